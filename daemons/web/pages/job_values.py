"""What the options of a job were: the way back from a request to the values of a form (`option_form`).

Owns the form of each option's value, which the option itself would read as it was. Called by the pages that alter a job, and that
begin a new one like it. Source: qsub(1).
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo

from gridengine.gdi.requests import Submit

_SWITCH = {True: "y", False: "n", None: ""}


def values_of(wish: Submit, zone: tzinfo) -> dict[str, str]:
    """Values by the names of a form's fields; options that were not given are left out. `zone`: of the times."""
    found = {name: value(wish) for name, value in _PLAIN.items()}
    found |= {name: date_text(getattr(wish, field), zone) for name, field in (("-a", "start_after"), ("-dl", "deadline"))}
    if wish.pe:
        found["-pe"] = f"{wish.pe} {wish.pe_range}"
    if wish.allocation_rule:
        found["-alloc"] = f"{wish.allocation_rule} {wish.pe_range}"
    return {name: value for name, value in found.items() if value}


def program_of(wish: Submit) -> dict[str, str]:
    """The script or the command with its arguments, as fields; of a script that was not told only the arguments."""
    if wish.binary:
        return {"command": shlex.join([wish.script_file, *wish.args])}
    script = base64.b64decode(wish.script or "") if wish.script_encoding else (wish.script or "").encode()
    return {"script": script.decode(errors="replace"), "command": shlex.join(wish.args)}


def _paths(pairs: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{host}:{path}" if host else path for host, path in pairs)


def _pairs(table: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" if value else name for name, value in table.items())


def date_text(when: float, zone: tzinfo) -> str:
    """A moment (epoch s) as -a reads it; "" for 0."""
    return f"{datetime.fromtimestamp(when, zone):%Y%m%d%H%M.%S}" if when else ""


def _variables(wish: Submit) -> str:
    """Those of -v and -V, as far as an option can say them."""
    given = {name: wish.environment[name] for name in wish.environment_names if name in wish.environment}
    return _pairs({name: value for name, value in given.items() if "," not in value and "\n" not in value})


_PLAIN: dict[str, Callable[[Submit], str]] = {
    "-N": lambda wish: wish.name,
    "-t": lambda wish: wish.tasks,
    "-tc": lambda wish: str(wish.task_concurrency or ""),
    "-P": lambda wish: wish.project,
    "-p": lambda wish: str(wish.priority or ""),
    "-js": lambda wish: str(wish.job_share or ""),
    "-ot": lambda wish: str(wish.override_tickets or ""),
    "-ar": lambda wish: str(wish.ar or ""),
    "-comment": lambda wish: wish.comment,
    "-l": lambda wish: ",".join(wish.hard),
    "soft -l": lambda wish: ",".join(wish.soft),
    "-q": lambda wish: ",".join(wish.hard_queues),
    "soft -q": lambda wish: ",".join(wish.soft_queues),
    "-masterq": lambda wish: ",".join(wish.master_queues),
    "-binding": lambda wish: wish.binding,
    "-R": lambda wish: _SWITCH[wish.reserve or None],
    "-hold_jid": lambda wish: ",".join(wish.hold_jid),
    "-hold_jid_ok": lambda wish: ",".join(wish.hold_jid_ok),
    "-hold_jid_fail": lambda wish: ",".join(wish.hold_jid_fail),
    "-hold_jid_ad": lambda wish: ",".join(wish.hold_jid_ad),
    "-now": lambda wish: _SWITCH[wish.now or None],
    "-wd": lambda wish: wish.cwd,
    "-o": lambda wish: _paths(wish.stdout),
    "-e": lambda wish: _paths(wish.stderr),
    "-i": lambda wish: _paths(wish.stdin),
    "-S": lambda wish: _paths(wish.shells),
    "-shell": lambda wish: "n" if wish.no_shell else "",
    "-j": lambda wish: _SWITCH[wish.merge or None],
    "-v": _variables,
    "-r": lambda wish: _SWITCH[wish.rerun],
    "-notify": lambda wish: "y" if wish.notify else "",
    "-ckpt": lambda wish: wish.checkpoint,
    "-c": lambda wish: wish.checkpoint_when,
    "-m": lambda wish: wish.mail_options,
    "-M": lambda wish: ",".join(wish.mail_list),
    "-A": lambda wish: "" if wish.account == "sge" else wish.account,
    "-ac": lambda wish: _pairs(wish.context),
}
