"""The additional group id of a task: by it the launcher finds the processes of a job whose shepherd was killed (EX-14).

Owns the claims: an id of gid_range is claimed by a link in the spool directory. Unlike in 8.1.9 no process is ever killed for
its group alone: another execd may use the same range (`adoption` has the further conditions). Called by `containment`.
"""

from __future__ import annotations

import os
from pathlib import Path

from gridengine.errors import GridEngineError
from shepherd import task_files

CLAIMS = "addgrpids"


class NoGroupLeftError(GridEngineError):
    """All ids of gid_range are in use on this host (failed code 38)."""


def claim(directory: Path, gid_range: str | None) -> int | None:
    """Claim a free id for a task, None without a range or root. Raises NoGroupLeftError, ValueError."""
    ranges = parse_gid_range(gid_range)
    return _claim(directory, ranges) if os.geteuid() == 0 and ranges else None


def release(directory: Path, gid: int) -> None:
    """Release the id, if it is this task's."""
    claimed = _claims(directory) / str(gid)
    if _is_claimed_by(claimed, directory):
        claimed.unlink()


def parse_gid_range(text: str | None) -> list[range]:
    """`100-200,300` as ranges; NONE or None is none. Raises ValueError. Source: sge_conf(5) gid_range."""
    if text is None or text.upper() == "NONE":
        return []
    ranges = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        ranges.append(range(int(first), int(last or first) + 1))
    return ranges


def drop_claims(spool: Path) -> None:
    """Release the group ids of shepherds that no longer run, as after a reboot."""
    claims = spool / CLAIMS
    for claimed in claims.iterdir() if claims.is_dir() else ():
        if task_files.running(claimed) is None:
            claimed.unlink(missing_ok=True)


def _claim(directory: Path, ranges: list[range]) -> int:
    """Claim a free id: the claim is a link to the shepherd's `pid` file, which identifies the shepherd without another file.

    The start of the search depends on the task, so that few of many tasks collide.
    """
    claims = _claims(directory)
    claims.mkdir(mode=0o700, exist_ok=True)
    total = sum(len(each) for each in ranges)
    start = sum(directory.name.encode()) * 37 % total
    for index in range(total):
        gid = _pick(ranges, (start + index) % total)
        try:
            os.link(directory / task_files.PID, claims / str(gid))
            return gid
        except FileExistsError:
            if _is_claimed_by(claims / str(gid), directory):
                return gid
    raise NoGroupLeftError(f"all {total} group ids of gid_range are in use")


def _is_claimed_by(claimed: Path, directory: Path) -> bool:
    try:
        return os.path.samefile(claimed, directory / task_files.PID)
    except OSError:
        return False


def _pick(ranges: list[range], index: int) -> int:
    for each in ranges:
        if index < len(each):
            return each[index]
        index -= len(each)
    raise IndexError(index)


def _claims(directory: Path) -> Path:
    return directory.parent.parent / CLAIMS
