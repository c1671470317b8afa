"""No file is executed but as execvp(3) does it: through `gridengine.files.executables`."""

from __future__ import annotations

import ast
from pathlib import Path

_HERE = Path(__file__).parents[2]
#: what executes a file whose name somebody configured or typed goes through `gridengine.files.executables`; these run our own
_OWN_PROGRAMS = (
    "gridengine/files/executables.py", "clients/admin/", "daemons/runtime/reexec.py", "daemons/runtime/children.py",
    "shepherd/spawning.py",
)
_CALLS = {"execv", "execve", "execvp", "execvpe", "execl", "execlp", "spawnv", "spawnvp", "posix_spawn", "posix_spawnp", "Popen"}


def _calls(path: Path) -> list[str]:
    tree = ast.walk(ast.parse(path.read_text()))
    attributes = (node.func for node in tree if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [name.attr for name in attributes if name.attr in _CALLS]


def test_no_file_is_executed_in_another_way() -> None:
    folders = ("gridengine", "shepherd", "daemons", "clients")
    files = [file for folder in folders for file in sorted((_HERE / folder).rglob("*.py"))]
    others = {
        name: calls
        for file in files
        if not (name := str(file.relative_to(_HERE))).startswith(tuple(_OWN_PROGRAMS)) and (calls := _calls(file))
    }
    # all inside `start`, but for a command of this installation
    assert others == {
        "clients/verifiers.py": ["Popen"],
        "clients/task_runner/local_host.py": ["posix_spawnp"],
        "clients/task_runner/remote_host.py": ["posix_spawnp"],
        "clients/task_runner/progress_report.py": ["posix_spawn"],
    }
