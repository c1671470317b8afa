"""qconf: show and change the configuration. Source: qconf(1); statements QF-1 … QF-38.

Owns the order: the options of a call are carried out in sequence.
"""

from clients import configure, program
from gridengine.options.configuration import CONFIGURATION_OPTIONS
from gridengine.options.option import OptionError, options_of, read_options

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def qconf(arguments: list[str]) -> int:
    """Carry out all options; the first exit status that is not 0."""
    options = options_of("qconf", CONFIGURATION_OPTIONS)
    target: dict[str, Any] = {}
    try:
        settings, rest = read_options(arguments, options, mixed=True)
        for option, values, location in settings:
            option.apply(target, values, location)
        if rest:
            raise OptionError(f'invalid option argument "{rest[0]}"', unknown=rest[0])
    except OptionError as error:
        program.print_error(f"error: {error.text}")
        program.print_option_hint("qconf", error)
        return 1
    if not settings:
        return program.report_misuse("qconf", "qconf: no option is given")
    if "json" in target:
        from clients.configure import as_json

        return as_json.show(target.get("actions", []))
    status = 0
    for verb, kind, values in target["actions"]:
        status = _carry_out(verb, kind, values) or status
    return status


#: verb -> what carries it out, given kind and values; a row loads its module when it is called
HANDLERS: "dict[str, Callable[[str, list[str]], int]]" = {
    "help": lambda kind, values: program.show_help("qconf"),
    "show": lambda kind, values: configure.show.show(kind, values),
    "list": lambda kind, values: configure.show.show_list(kind),
    "tree": lambda kind, values: configure.show.show_group_tree(values[0]),
    "resolved": lambda kind, values: configure.show.show_group_hosts(values[0]),
    "search": lambda kind, values: configure.show.search(values),
    "detached": lambda kind, values: program.request("config_detached", {}),  # settings of queues that no host uses (QF-16)
    "add": lambda kind, values: configure.change.add_edited(kind, values),
    "modify": lambda kind, values: configure.change.modify_edited(kind, values),
    "add_names": lambda kind, values: configure.change.add_names(kind, values),
    "add_file": lambda kind, values: configure.change.send_files("add", kind, values),
    "modify_file": lambda kind, values: configure.change.send_files("modify", kind, values),
    "delete": lambda kind, values: configure.change.delete(kind, values),
    "clean": lambda kind, values: configure.change.clean(values),
    "add_users": lambda kind, values: configure.attributes.change_users("add", values),
    "delete_users": lambda kind, values: configure.attributes.change_users("delete", values),
    "drawn": lambda kind, values: configure.share_tree.draw(),
    "nodes": lambda kind, values: configure.share_tree.show_nodes(values),
    "add_nodes": lambda kind, values: configure.share_tree.change_nodes("add", values),
    "modify_nodes": lambda kind, values: configure.share_tree.change_nodes("modify", values),
    "delete_nodes": lambda kind, values: configure.share_tree.change_nodes("delete", values),
    "clear_usage": lambda kind, values: configure.share_tree.clear_usage(values),
    "scheduler_host": lambda kind, values: configure.daemons.show_scheduler_host(),
    "list_event_clients": lambda kind, values: configure.daemons.list_event_clients(),
    "end_event_clients": lambda kind, values: configure.daemons.end_event_clients(values),
    "start_thread": lambda kind, values: configure.daemons.start_thread(values),
    "shutdown": lambda kind, values: configure.daemons.shut_down(kind, values),
    "shutdown_jobs": lambda kind, values: configure.daemons.shut_down(kind, values, kill_jobs=True),
    "monitor": lambda kind, values: program.request("monitor_scheduling", {}),  # writes common/schedd_runlog (QF-35)
}


def _carry_out(verb: str, kind: str, values: list[str]) -> int:
    """One option."""
    if kind in ("attribute", "attribute_file"):
        attributes = configure.attributes
        return (attributes.change if kind == "attribute" else attributes.change_by_file)(verb, values)
    return HANDLERS[verb](kind, values)
