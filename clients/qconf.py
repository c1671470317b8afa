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


#: verb -> the function that carries it out, given kind and values; a row loads its module when it is called
HANDLERS: "dict[str, Callable[[], Callable[[str, list[str]], int]]]" = {
    "show": lambda: configure.show.show,
    "list": lambda: configure.show.show_list,
    "tree": lambda: configure.show.show_group_tree,
    "resolved": lambda: configure.show.show_group_hosts,
    "search": lambda: configure.show.search,
    "detached": lambda: configure.show.show_detached,
    "add": lambda: configure.change.add_edited,
    "modify": lambda: configure.change.modify_edited,
    "add_names": lambda: configure.change.add_names,
    "add_file": lambda: configure.change.add_from_files,
    "modify_file": lambda: configure.change.modify_from_files,
    "delete": lambda: configure.change.delete,
    "clean": lambda: configure.change.clean,
    "add_users": lambda: configure.attributes.add_users,
    "delete_users": lambda: configure.attributes.delete_users,
    "drawn": lambda: configure.share_tree.draw,
    "nodes": lambda: configure.share_tree.show_nodes,
    "add_nodes": lambda: configure.share_tree.add_nodes,
    "modify_nodes": lambda: configure.share_tree.modify_nodes,
    "delete_nodes": lambda: configure.share_tree.delete_nodes,
    "clear_usage": lambda: configure.share_tree.clear_usage,
    "scheduler_host": lambda: configure.daemons.show_scheduler_host,
    "list_event_clients": lambda: configure.daemons.list_event_clients,
    "end_event_clients": lambda: configure.daemons.end_event_clients,
    "start_thread": lambda: configure.daemons.start_thread,
    "shutdown": lambda: configure.daemons.shut_down,
    "shutdown_jobs": lambda: configure.daemons.shut_down_with_jobs,
    "monitor": lambda: configure.daemons.monitor_scheduling,
}


def _carry_out(verb: str, kind: str, values: list[str]) -> int:
    """One option."""
    if verb == "help":
        return program.show_help("qconf")
    if kind in ("attribute", "attribute_file"):
        attributes = configure.attributes
        return (attributes.change if kind == "attribute" else attributes.change_by_file)(verb, values)
    return HANDLERS[verb]()(kind, values)
