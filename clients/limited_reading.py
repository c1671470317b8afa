"""Reading of files that users name, with a limit: a device without an end, or a file of gigabytes by mistake, takes no memory.

Called by all commands that read files of options, scripts and configuration. Must import next to nothing.
"""

import errno

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import IO, AnyStr

#: of a file of options, in bytes or characters
OPTIONS_MOST = 1 << 20
#: of a script, or of a file with configuration; the qmaster's own limits are lower by default (max_submit_size)
SCRIPT_MOST = 1 << 26


def read_limited(file: "IO[AnyStr]", most: int) -> "AnyStr":
    """All that a file holds. Raises OSError, also when that is more than `most`."""
    found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it holds more than {most >> 20} MB")
    return found
