"""qconf: show and change the configuration. Source: qconf(1); statements QF-1 … QF-38.

Owns the order of things: every option of a call is carried out, one after the other.
"""

import sys

from clients import program
from gridengine.options.configuration import CONFIGURATION_OPTIONS
from gridengine.options.option import OptionError, options_of, read_options, usage

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def qconf(arguments: list[str]) -> int:
    """Carry out all options; the first exit status that is not 0."""
    options = options_of("qconf", CONFIGURATION_OPTIONS)
    target: dict[str, Any] = {}
    try:
        settings, rest = read_options(arguments, options, mixed=True)
        for option, values, place in settings:
            option.apply(target, values, place)
        if rest:
            raise OptionError(f'invalid option argument "{rest[0]}"')
    except OptionError as error:
        program.complain(f"error: {error.text}\nUsage: qconf -help")
        return 1
    if not settings:
        return program.misused("qconf", CONFIGURATION_OPTIONS, "", "qconf: no option is given")
    if "json" in target:
        from clients.configure import as_json

        return as_json.show(target.get("actions", []))
    status = 0
    for verb, kind, values in target["actions"]:
        status = _carry_out(verb, kind, values) or status
    return status


#: what carries a verb out: module of `clients.configure` and function of (kind, values)
_CARRIED_OUT = {
    "show": ("show", "show"),
    "list": ("show", "show_list"),
    "tree": ("show", "show_group_tree"),
    "resolved": ("show", "show_group_hosts"),
    "search": ("show", "search"),
    "detached": ("show", "show_detached"),
    "add": ("change", "add_edited"),
    "modify": ("change", "modify_edited"),
    "add_names": ("change", "add_names"),
    "add_file": ("change", "add_from_files"),
    "modify_file": ("change", "modify_from_files"),
    "delete": ("change", "delete"),
    "clean": ("change", "clean"),
    "add_users": ("attributes", "add_users"),
    "delete_users": ("attributes", "delete_users"),
    "drawn": ("share_tree", "draw"),
    "nodes": ("share_tree", "show_nodes"),
    "add_nodes": ("share_tree", "add_nodes"),
    "modify_nodes": ("share_tree", "modify_nodes"),
    "delete_nodes": ("share_tree", "delete_nodes"),
    "clear_usage": ("share_tree", "clear_usage"),
    "scheduler_host": ("daemons", "show_scheduler_host"),
    "list_event_clients": ("daemons", "list_event_clients"),
    "end_event_clients": ("daemons", "end_event_clients"),
    "start_thread": ("daemons", "start_thread"),
    "shutdown": ("daemons", "shut_down"),
    "shutdown_jobs": ("daemons", "shut_down_with_jobs"),
    "monitor": ("daemons", "monitor_scheduling"),
}


def _carry_out(verb: str, kind: str, values: list[str]) -> int:
    """One option."""
    if verb == "help":
        sys.stdout.write(usage("qconf", "", options_of("qconf", CONFIGURATION_OPTIONS)))
        return 0
    if kind in ("attribute", "attribute_file"):
        from clients.configure import attributes

        return (attributes.change if kind == "attribute" else attributes.change_by_file)(verb, values)
    module, function = _CARRIED_OUT[verb]
    # only what this option needs is loaded
    status: int = getattr(__import__(f"clients.configure.{module}", fromlist=[function]), function)(kind, values)
    return status


def main() -> int:
    return program.run("qconf", qconf)
