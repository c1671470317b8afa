"""JSON for the commands' common path, without the import time of the module `json`.

Owns encoding and decoding by the accelerator that `json` itself uses. `json` adds regular expressions, which these functions do
not need, and with them 6 ms to a command of 15 ms. Without the accelerator, or with a different one, `json` does the work.
Called by `gridengine.api.wire` and the commands.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

try:
    import _json as accelerator

    FAST = hasattr(accelerator, "make_scanner") and hasattr(accelerator, "make_encoder")
except ImportError:  # another interpreter than CPython
    FAST = False


class _Plain:
    """The settings of the scanner: plain dicts, lists, numbers."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: "dict[str, str]" = {}


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


if FAST:
    _scan: "Any" = accelerator.make_scanner(_Plain())  # type: ignore[arg-type]
    _quote = accelerator.encode_basestring_ascii
    _encode: "Any" = accelerator.make_encoder(None, _refuse, _quote, None, ":", ",", False, False, False)

    def encode(value: object) -> bytes:
        """A value as JSON text in ASCII."""
        return "".join(_encode(value, 0)).encode()

    def decode(text: bytes) -> "Any":
        """The value of a JSON text. Raises ValueError for a text that is not JSON."""
        try:
            return _scan(text.decode().strip(), 0)[0]
        except StopIteration as stop:
            raise ValueError(f"no JSON value at position {stop.value}") from None

else:
    import json

    def encode(value: object) -> bytes:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()

    def decode(text: bytes) -> "Any":
        return json.loads(text)
