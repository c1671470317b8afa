"""The origin of a job: the caller's directory, home and shell, for `qstat -j` and the variables SGE_O_*.

Called by the submitting commands and by `operations`. Source: statement EN-3.
"""

import os

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

_VARIABLES = ("HOME", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ", "TERM")


def add_origin(request: "dict[str, Any]", cwd: str) -> None:
    """Add the origin of a job to the request that submits it."""
    import pwd

    try:
        user = pwd.getpwuid(os.getuid())
        known = {"LOGNAME": user.pw_name, "HOME": user.pw_dir, "SHELL": user.pw_shell}
    except KeyError:
        known = {}
    origin = {name: os.environ.get(name) or known.get(name, "") for name in _VARIABLES}
    origin["HOST"] = os.environ.get("HOST") or os.uname().nodename
    origin["WORKDIR"] = cwd
    environment = request.setdefault("environment", {})
    for name, value in origin.items():
        if value:
            environment[f"SGE_O_{name}"] = value.encode("utf-8", "replace").decode()
    request["home"], request["submit_path"] = origin["HOME"], origin["PATH"]
    request["login_shell"], request["submit_cwd"] = origin["SHELL"], cwd
