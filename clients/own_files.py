"""Files in directories that may be a stranger's: read only where nobody but the caller and root has had a hand in them.

Called by the submitting commands for `.sge_request` of the working directory. Loaded only where there is such a file.
"""

import os
import pwd
import stat


class ForeignFile(Exception):
    """The file is not to be read; the text says why."""


def open_own(path: str, flags: int) -> int:
    """As `opener` of `open`: a descriptor of a file of the caller or root that nobody else may write.

    A link to it must be the caller's or root's, too. Raises ForeignFile, OSError.
    """
    _check_owner(os.lstat(path))
    # without waiting: a pipe would hold the command
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ForeignFile("it is no regular file")
        _check_owner(status)
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ForeignFile("others than its owner may write to it (chmod go-w)")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_owner(found: os.stat_result) -> None:
    """Raises ForeignFile."""
    if found.st_uid in (os.geteuid(), 0):
        return
    try:
        name = pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        name = str(found.st_uid)
    raise ForeignFile(f'it belongs to user "{name}"')
