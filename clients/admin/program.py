"""The command line of `gridengine`: its sub-commands and their modules.

Owns their names and order. A sub-command is imported on its call: a query to a daemon does not wait for the libraries that make
certificates. Called by `__main__`.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

#: settings of a sub-command followed by a separate command line
_FREE = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}

#: name -> module below `clients.admin`, and its function or `typer.Typer` with sub-commands
COMMANDS = {
    "backup": ("backup", "backup"),
    "verify": ("backup", "verify"),
    "restore": ("backup", "restore"),
    "top": ("top", "top"),
    "upgrade": ("upgrade", "upgrade"),
    "import-sge": ("import_sge.command", "import_sge"),
    "ray": ("clusters.commands", "ray"),
    "dask": ("clusters.commands", "dask"),
    "init": ("cell_commands", "init"),
    "settings": ("settings_files", "settings_command"),
    "join": ("cell_commands", "join"),
    "start": ("daemon_commands", "start_command"),
    "stop": ("daemon_commands", "stop_command"),
    "status": ("daemon_commands", "status"),
    "doctor": ("doctor", "doctor"),
    "web": ("web", "web_command"),
    "alarms": ("alarms", "alarms"),
    "report": ("report", "report"),
    "demo": ("demo", "demo"),
    "upgrade-accounting": ("accounting_upgrade", "upgrade_accounting_command"),
    "completion": ("completion_command", "completion"),
    "uninstall": ("cell_commands", "uninstall_command"),
    "arco": ("arco.commands", "arco"),
    "config": ("config", "config"),
    "policy": ("policy", "policy"),
    "simulate": ("simulation.command", "simulate"),
    "host": ("host", "host"),
    "devices": ("devices", "devices"),
    "shadow": ("shadow", "shadow"),
    "token": ("token", "token"),
}


class _Commands(MutableMapping[str, Any]):
    """The sub-commands, each created on its first use."""

    def __getitem__(self, name: str) -> Any:
        module, attribute = COMMANDS[name]
        known = getattr(import_module(f"clients.admin.{module}"), attribute)
        if isinstance(known, typer.Typer):
            command: Any = get_group(known)
        else:
            alone = typer.Typer(add_completion=False)
            alone.command(context_settings=_FREE if module == "clusters.commands" else None)(known)
            command = get_command(alone)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __setitem__(self, name: str, command: object) -> NoReturn:
        raise TypeError("sub-commands are defined in the table")

    __delitem__ = __setitem__  # type: ignore[assignment]


class _Program(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()


app = typer.Typer(
    name="gridengine",
    cls=_Program,
    help="Make, start, stop and check a Grid Engine cell.",
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(help=app.info.help)
def _all() -> None:
    """The common part of all sub-commands: none."""
