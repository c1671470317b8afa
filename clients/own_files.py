"""Files of default options in directories that may belong to another user: read only if the caller or root wrote them.

Called by all commands that read such a file: in the working directory, and in HOME, which is another user's after `su -m`,
with `sudo -E` and in containers. Loaded only where there is such a file.
"""

import errno
import grp
import os
import pwd
import stat

from clients.program import MAX_OPTIONS_SIZE, print_error, read_limited
from gridengine.errors import GridEngineError


class ForeignFileError(GridEngineError):
    """The file must not be read; the text is the reason."""


def read_own(path: str) -> str | None:
    """The text of such a file. None, with a warning on stderr, where the file must not be read or is too large. Raises OSError.

    Deviation: 8.1.9 reads a file of any owner, which may name programs (`-jsv`, `-o`) that run, or files that are
    written, as the caller.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_own) as file:
            return read_limited(file, MAX_OPTIONS_SIZE)
    except ForeignFileError as reason:
        print_error(f"warning: {path} is not read: {reason}")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        print_error(f"warning: {path} is not read: {error.strerror}")
    return None


def open_own(path: str, flags: int) -> int:
    """As `opener` of `open`: a descriptor of a file that only the caller or root owns and may write.

    A link to the file must also belong to the caller or root. Raises ForeignFileError, OSError.
    """
    _check_owner(os.lstat(path))
    # non-blocking: a pipe would block the command
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ForeignFileError("not a regular file")
        _check_owner(status)
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private_group(status)):
            raise ForeignFileError("users other than its owner may write to it (chmod go-w)")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_private_group(status: os.stat_result) -> bool:
    """Whether the file's owner is the only member of its group: systems with the umask 002 have a group for each user."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name and set(group.gr_mem) <= {owner.pw_name}


def _check_owner(status: os.stat_result) -> None:
    """Raises ForeignFileError."""
    if status.st_uid in (os.geteuid(), 0):
        return
    try:
        name = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        name = str(status.st_uid)
    raise ForeignFileError(f'it belongs to user "{name}"')
