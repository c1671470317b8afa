"""Files of default options in directories that may be another user's: read only if nobody but the caller and root wrote them.

Called by all commands that read such a file: in the working directory, and in HOME, which is another user's after `su -m`,
with `sudo -E` and in containers. Loaded only where there is such a file.
"""

import errno
import grp
import os
import pwd
import stat

from clients.program import OPTIONS_MOST, complain, read_limited


class ForeignFile(Exception):
    """The file is not to be read; the text says why."""


def read_own(path: str) -> str | None:
    """The text of such a file, None where it is not to be read, of which stderr has a line; so is one that is too
    large. Raises OSError.

    Deviation: 8.1.9 reads it whoever has written it, and it may name programs (`-jsv`, `-o`) that run, or files that are
    written, as the caller.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_own) as file:
            return read_limited(file, OPTIONS_MOST)
    except ForeignFile as reason:
        complain(f"warning: {path} is not read: {reason}")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        complain(f"warning: {path} is not read: {error.strerror}")
    return None


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
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private_group(status)):
            raise ForeignFile("others than its owner may write to it (chmod go-w)")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_private_group(found: os.stat_result) -> bool:
    """Whether the group of a file is its owner's alone, as systems with the umask 002 have one for each user."""
    try:
        owner, group = pwd.getpwuid(found.st_uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name and set(group.gr_mem) <= {owner.pw_name}


def _check_owner(found: os.stat_result) -> None:
    """Raises ForeignFile."""
    if found.st_uid in (os.geteuid(), 0):
        return
    try:
        name = pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        name = str(found.st_uid)
    raise ForeignFile(f'it belongs to user "{name}"')
