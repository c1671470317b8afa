"""The user's terminal, or the standard streams of this process, during a session.

Owns raw mode and its restoration, the window's size and the signals about both. Called by `interactive`.
"""

import os
import signal
import termios

from clients.ending_signals import EndingSignals

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

#: signals that end the command and its job, unless the terminal of a session was hung up
HUNG_UP = signal.SIGHUP
# fields of the result of tcgetattr, and the flags that cfmakeraw(3) clears
_INPUT, _OUTPUT, _CONTROL, _LOCAL, _CHARACTERS = 0, 1, 2, 3, 6
_INPUT_FLAGS = (
    termios.IGNBRK
    | termios.BRKINT
    | termios.PARMRK
    | termios.ISTRIP
    | termios.INLCR
    | termios.IGNCR
    | termios.ICRNL
    | termios.IXON
)
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Terminal:
    """`signals`: those that end the command.

    `attention`: a descriptor that becomes readable when the window or the job control state may have changed.
    """

    def __init__(self) -> None:
        self.attention, self._writing = os.pipe()
        for descriptor in (self.attention, self._writing):
            os.set_blocking(descriptor, False)
        self._saved: list[Any] | None = None
        # under nohup SIGHUP stays ignored
        self.signals = EndingSignals(tuple(each for each in _ENDING_SIGNALS if signal.getsignal(each) != signal.SIG_IGN))

    def watch_signals(self) -> None:
        """Install the handlers: an ending signal raises SignalledError, see `EndingSignals`."""
        self.signals.watch()
        signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background a read fails instead of stopping everything
        for number in (signal.SIGWINCH, signal.SIGCONT):
            signal.signal(number, self._handle_signal)

    def _handle_signal(self, number: int, frame: object) -> None:
        if number == signal.SIGCONT and self._saved is not None:
            self.raw()
        try:
            os.write(self._writing, b".")
        except BlockingIOError:
            pass

    def clear_attention(self) -> None:
        """Clear `attention`."""
        try:
            while os.read(self.attention, 512):
                continue
        except BlockingIOError:
            return

    @property
    def size(self) -> "tuple[int, int, int, int] | None":
        """Rows, columns and no pixels; None when nothing here is a terminal."""
        for descriptor in (0, 1, 2):
            try:
                return (*termios.tcgetwinsize(descriptor), 0, 0)
            except (termios.error, OSError):
                continue
        return None

    def raw(self) -> None:
        """Pass every key to the job unchanged. No effect if standard input is no terminal."""
        try:
            attributes = termios.tcgetattr(0)
        except (termios.error, OSError):
            return
        self._saved = self._saved or attributes
        raw = list(attributes)
        raw[_INPUT] &= ~_INPUT_FLAGS
        raw[_OUTPUT] &= ~termios.OPOST
        raw[_CONTROL] = raw[_CONTROL] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
        raw[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
        raw[_CHARACTERS] = list(raw[_CHARACTERS])
        raw[_CHARACTERS][termios.VMIN], raw[_CHARACTERS][termios.VTIME] = 1, 0
        termios.tcsetattr(0, termios.TCSADRAIN, raw)

    @property
    def is_raw(self) -> bool:
        return self._saved is not None

    def restore(self) -> None:
        """Undo `raw`."""
        if self._saved is not None:
            try:
                termios.tcsetattr(0, termios.TCSADRAIN, self._saved)
            except (termios.error, OSError):
                pass  # it was hung up
            self._saved = None
