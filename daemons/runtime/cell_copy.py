"""The files of `common/` that every host needs: the qmaster owns them, and a host with a copy of its own follows.

Owns the digests, the choice of the files that a host lacks, and the writing: known names only, limited in size, replaced by
rename. A host that shares `common/` with the master writes nothing: the host recognises the master's mark by inode and
change time. Called by the qmaster and the leader of the shadow hosts (they offer), sge_execd and sge_shadowd (they take).
Source: docs/adr/0173.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
import re
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from daemons.runtime.cell import CellError, parse_settings
from daemons.runtime.log_once import LogOnce
from gridengine.cell_files import HOST_FILES
from gridengine.errors import plain_fault
from gridengine.files.bootstrap import REQUIRED, invalid_values
from gridengine.files.durable import durable_write

_log = logging.getLogger(__name__)

LOCAL_SETTINGS = ("qmaster_spool_dir", "execd_spool_dir", "run_dir", "execd_port")
"""Settings of bootstrap that may differ from host to host: a host keeps its own lines."""
LARGEST = 262144
"""Largest size of an offered file, in bytes; longer files are not offered."""
MARK = ".shared_with_master"
_READ_S = 1.0
#: seconds: a file written more recently may change again without a new time of change
_RECENT_S = 2.0
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,253}\n?")

Texts = dict[str, str]
"""Contents by file name; "" for a file that does not exist."""


class CellTexts:
    """The contents of the files of a `common/`; a file is read again when its status has changed."""

    def __init__(self, common: Path) -> None:
        self._common = common
        self._known: dict[str, tuple[tuple[int, ...], str | None]] = {}

    def read(self) -> Texts:
        """Return the files that can be offered: files that are too long, not text, or unreadable at the moment are left out."""
        read = ((name, self._text(name)) for name in HOST_FILES)
        return {name: text for name, text in read if text is not None}

    def digests(self) -> dict[str, str]:
        """Digests by name, without the local settings of a host; "" for a file that does not exist."""
        return {name: _digest(name, text) for name, text in self.read().items()}

    def _text(self, name: str) -> str | None:
        path = self._common / name
        try:
            status = path.stat()
        except FileNotFoundError:
            return ""
        except OSError:
            return None
        seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known, text = self._known.get(name, ((), None))
        if seen != known:
            text = _read(path)
            if time.time() - max(status.st_mtime, status.st_ctime) > _RECENT_S:
                self._known[name] = seen, text
        return text


class OfferedFiles:
    """The files of `common/` that the master, `host`, offers; each file is read once a second at most."""

    def __init__(self, common: Path, host: str) -> None:
        self._common, self._host, self._reader = common, host, CellTexts(common)
        self._texts: Texts = {}
        self._mark, self._read_at, self._lock = "", -math.inf, asyncio.Lock()

    async def select_files(self, digests: Mapping[str, str], mark: str) -> Texts:
        """Return the files that a host with these digests and this mark has to take; {}: the host has equal files, or the
        same files.

        A host of an earlier release sends no digests, and is offered nothing.
        """
        if not digests:
            return {}
        async with self._lock:  # a file system that hangs holds one thread
            if time.monotonic() - self._read_at > _READ_S:
                await asyncio.to_thread(self._read_files)
        if self._mark and self._mark == mark:
            return {}
        return {name: text for name, text in self._texts.items() if digests.get(name) != _digest(name, text)}

    def _read_files(self) -> None:
        self._mark = read_mark(self._common)
        self._texts = self._reader.read() | {"act_qmaster": f"{self._host}\n"}  # the file may not have been written yet
        self._read_at = time.monotonic()


class CellCopy:
    """The `common/` of a host: takes the files that the master offers, and logs it; an error is logged once."""

    def __init__(self, common: Path) -> None:
        self._common, self._reader, self._logged = common, CellTexts(common), LogOnce()

    def state(self) -> dict[str, object]:
        """The host's report to the master: the fields `files` and `files_mark` of `execd_hello`."""
        return {"files": self._reader.digests(), "files_mark": read_mark(self._common)}

    def take(self, offered: object) -> None:
        """Follow the master. An offer that is invalid or cannot be written is logged."""
        try:
            if changed := follow(self._common, offered):
                _log.warning("took %s from the master: %s is as there", ", ".join(changed), self._common)
            self._logged.clear()
        except (CellError, OSError) as fault:
            if self._logged.is_new(error_text := plain_fault(fault)):
                _log.error("cannot take the master's files: %s", error_text)


def mark(common: Path) -> None:
    """Mark a directory as one whose files a master offers, unless it is marked. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(common / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))


def read_mark(common: Path) -> str:
    """Distinguishes this directory from every copy of it, "" without a mark: a copy has another inode and change time."""
    try:
        status = (common / MARK).stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_ctime_ns}"


def follow(common: Path, offered: object) -> list[str]:
    """Take the files that the master offers; return the names of the changed files. Raises OSError, CellError: none was changed.

    The previous file is kept as `NAME.replaced`: an administrator may have edited it on this host.
    """
    texts = _check_offered(common, offered)
    # the name of the master last: its readers rely on the other files
    changed = sorted((name for name in texts if _read(common / name) != texts[name]), key=lambda name: name == "act_qmaster")
    for name in changed:
        path = common / name
        kept = path.with_name(f"{name}.replaced")
        if not texts[name]:
            path.replace(kept)
            continue
        with suppress(OSError):  # there is none, or the file system has no links
            kept.unlink(missing_ok=True)
            os.link(path, kept, follow_symlinks=False)
        _replace(path, texts[name])
    return changed


def _check_offered(common: Path, offered: object) -> Texts:
    """Raises CellError."""
    if not isinstance(offered, dict):
        raise CellError("the master offers no files")
    texts = {name: text for name, text in offered.items() if name in HOST_FILES}  # a later release may have more
    for name, text in texts.items():
        if not (isinstance(text, str) and _fits(text)):
            raise CellError(f"the master offers a {name} that is no text of at most {LARGEST} bytes")
    if "act_qmaster" in texts and not _HOST_NAME.fullmatch(texts["act_qmaster"]):
        raise CellError("the master offers an act_qmaster that names no host")
    if "bootstrap" in texts:
        path = common / "bootstrap"
        if wrong := next(invalid_values(parse_settings(texts["bootstrap"], path, REQUIRED)), ""):
            raise CellError(f"the master offers a bootstrap that is wrong: {wrong}")
        texts["bootstrap"] = _with_local_settings(texts["bootstrap"], _read(path) or "")
    return texts


def _fits(text: str) -> bool:
    try:
        return len(text.encode()) <= LARGEST
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can express
        return False


def _read(path: Path) -> str | None:
    """Return the text, "" for a file that does not exist, None for a file that cannot be offered."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            content = file.read(LARGEST + 1)
        return content.decode() if len(content) <= LARGEST else None
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        return None


def _digest(name: str, text: str) -> str:
    digested = _without_local_settings(text) if name == "bootstrap" else text
    return hashlib.sha256(digested.encode()).hexdigest()[:32] if digested else ""


def _without_local_settings(bootstrap: str) -> str:
    return "".join(f"{line}\n" for line in bootstrap.splitlines() if _setting_name(line) not in LOCAL_SETTINGS)


def _with_local_settings(bootstrap: str, own: str) -> str:
    """The master's text with this host's own lines for the local settings; lines that it lacks are added at the end."""
    local = {_setting_name(line): line for line in own.splitlines() if _setting_name(line) in LOCAL_SETTINGS}
    lines = [local.pop(_setting_name(line), line) for line in bootstrap.splitlines()]
    return "".join(f"{line}\n" for line in [*lines, *local.values()])


def _setting_name(line: str) -> str:
    return (line.split(None, 1) or [""])[0]


def _replace(path: Path, text: str) -> None:
    """Raises OSError."""
    parent = path.parent.stat()
    owner = (parent.st_uid, parent.st_gid) if os.geteuid() == 0 else None
    durable_write(path, text.encode(), 0o644, owner=owner, writer=str(os.getpid()))
