"""Options of qconf, by one table of kinds. Source: qconf(1); statements QF-1 … QF-36.

Owns the rows. Each use of an option becomes an action (verb, kind, values), carried out in order by `clients.qconf`.
"""

from gridengine.options.fields import check_not_empty, flag
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from gridengine.options.option import Fold

Action = tuple[str, str, list[str]]


def _action(verb: str, kind: str, required: int) -> "Fold":
    """`required`: number of arguments that must not be empty."""

    def fold(target: "dict[str, Any]", field: str, values: list[str]) -> None:
        check_not_empty(values[:required])
        target.setdefault("actions", []).append((verb, kind, values))

    return fold


def _queue_lines(kind: str) -> "Fold":
    """-mqattr and -Mqattr are -rattr and -Rattr of queues; the argument `queue` may be left out (QF-7)."""

    def fold(target: "dict[str, Any]", field: str, values: list[str]) -> None:
        rest = values[1:] if values[0] == "queue" else values
        target.setdefault("actions", []).append(("replace", kind, ["queue", *rest]))

    return fold


def _option(name: str, arguments: str, verb: str, kind: str, help: str) -> Option:
    of_values = verb == "search" or kind.startswith("attribute")
    required = 0 if of_values else sum(argument[0] != "[" for argument in arguments.split())
    return Option(name, arguments, "qconf", _action(verb, kind, required), "", help)


_QUEUE, _PE, _CKPT, _CAL = "cluster_queue", "parallel_environment", "checkpoint", "calendar"
_HOST, _UNITS, _GROUP, _RQS, _CONF = "exec_host", "host_units", "host_group", "resource_quota", "configuration"

CONFIGURATION_OPTIONS: tuple[Option, ...] = (
    _option("-aq", "[queue_name]", "add", _QUEUE, "add a cluster queue in the editor"),
    _option("-Aq", "file", "add_file", _QUEUE, "add a cluster queue from a file"),
    _option("-mq", "queue_name", "modify", _QUEUE, "change a cluster queue in the editor"),
    _option("-Mq", "file", "modify_file", _QUEUE, "replace a cluster queue from a file"),
    _option("-dq", "queue_list", "delete", _QUEUE, "delete cluster queues"),
    _option("-sq", "[wc_queue_list...]", "show", _QUEUE, "show queues, or the template"),
    _option("-sql", "", "list", _QUEUE, "list all cluster queues"),
    _option("-cq", "wc_queue_list", "clean", _QUEUE, "remove all jobs of queues from the system"),
    _option("-ahgrp", "host_group", "add", _GROUP, "add a host group in the editor"),
    _option("-Ahgrp", "file", "add_file", _GROUP, "add a host group from a file"),
    _option("-mhgrp", "host_group", "modify", _GROUP, "change a host group in the editor"),
    _option("-Mhgrp", "file", "modify_file", _GROUP, "replace a host group from a file"),
    _option("-dhgrp", "host_group", "delete", _GROUP, "delete a host group"),
    _option("-shgrp", "host_group", "show", _GROUP, "show a host group"),
    _option("-shgrpl", "", "list", _GROUP, "list all host groups"),
    _option("-shgrp_tree", "host_group", "tree", _GROUP, "show a host group and the groups in it as a tree"),
    _option("-shgrp_resolved", "host_group", "resolved", _GROUP, "show all hosts of a host group"),
    _option("-ae", "[host_template]", "add", _HOST, "add an execution host in the editor"),
    _option("-Ae", "file", "add_file", _HOST, "add an execution host from a file"),
    _option("-me", "host", "modify", _HOST, "change an execution host in the editor"),
    _option("-Me", "file", "modify_file", _HOST, "replace an execution host from a file"),
    _option("-de", "host_list", "delete", _HOST, "delete execution hosts"),
    _option("-se", "host", "show", _HOST, "show an execution host"),
    _option("-sel", "", "list", _HOST, "list all execution hosts"),
    _option("-aunit", "host", "add", _UNITS, "add the properties of a host's named units in the editor"),
    _option("-Aunit", "file", "add_file", _UNITS, "add the properties of a host's named units from a file"),
    _option("-munit", "host", "modify", _UNITS, "change the properties of a host's named units in the editor"),
    _option("-Munit", "file", "modify_file", _UNITS, "replace the properties of a host's named units from a file"),
    _option("-dunit", "host_list", "delete", _UNITS, "delete the properties of the named units of hosts"),
    _option("-sunit", "host_list", "show", _UNITS, "show the properties of the named units of hosts"),
    _option("-sunitl", "", "list", _UNITS, "list all hosts with properties of named units"),
    _option("-ah", "host_list", "add_names", "admin_host", "add administrative hosts"),
    _option("-dh", "host_list", "delete", "admin_host", "delete administrative hosts"),
    _option("-sh", "", "list", "admin_host", "list all administrative hosts"),
    _option("-as", "host_list", "add_names", "submit_host", "add submit hosts"),
    _option("-ds", "host_list", "delete", "submit_host", "delete submit hosts"),
    _option("-ss", "", "list", "submit_host", "list all submit hosts"),
    _option("-am", "user_list", "add_names", "manager", "add managers"),
    _option("-dm", "user_list", "delete", "manager", "delete managers"),
    _option("-sm", "", "list", "manager", "list all managers"),
    _option("-ao", "user_list", "add_names", "operator", "add operators"),
    _option("-do", "user_list", "delete", "operator", "delete operators"),
    _option("-so", "", "list", "operator", "list all operators"),
    _option("-mc", "", "modify", "complex", "change the complex table in the editor"),
    _option("-Mc", "file", "modify_file", "complex", "replace the complex table from a file"),
    _option("-sc", "", "show", "complex", "show the complex table"),
    _option("-ap", "pe_name", "add", _PE, "add a parallel environment in the editor"),
    _option("-Ap", "file", "add_file", _PE, "add a parallel environment from a file"),
    _option("-mp", "pe_name", "modify", _PE, "change a parallel environment in the editor"),
    _option("-Mp", "file", "modify_file", _PE, "replace a parallel environment from a file"),
    _option("-dp", "pe_list", "delete", _PE, "delete parallel environments"),
    _option("-sp", "pe_name", "show", _PE, "show a parallel environment"),
    _option("-spl", "", "list", _PE, "list all parallel environments"),
    _option("-ackpt", "ckpt_name", "add", _CKPT, "add a checkpointing environment in the editor"),
    _option("-Ackpt", "file", "add_file", _CKPT, "add a checkpointing environment from a file"),
    _option("-mckpt", "ckpt_name", "modify", _CKPT, "change a checkpointing environment in the editor"),
    _option("-Mckpt", "file", "modify_file", _CKPT, "replace a checkpointing environment from a file"),
    _option("-dckpt", "ckpt_list", "delete", _CKPT, "delete checkpointing environments"),
    _option("-sckpt", "ckpt_name", "show", _CKPT, "show a checkpointing environment"),
    _option("-sckptl", "", "list", _CKPT, "list all checkpointing environments"),
    _option("-acal", "calendar_name", "add", _CAL, "add a calendar in the editor"),
    _option("-Acal", "file", "add_file", _CAL, "add a calendar from a file"),
    _option("-mcal", "calendar_name", "modify", _CAL, "change a calendar in the editor"),
    _option("-Mcal", "file", "modify_file", _CAL, "replace a calendar from a file"),
    _option("-dcal", "calendar_list", "delete", _CAL, "delete calendars"),
    _option("-scal", "calendar_name", "show", _CAL, "show a calendar"),
    _option("-scall", "", "list", _CAL, "list all calendars"),
    _option("-au", "user_list listname_list", "add_users", "userset", "add users to access lists"),
    _option("-Au", "file", "add_file", "userset", "add an access list from a file"),
    _option("-mu", "listname", "modify", "userset", "change an access list in the editor"),
    _option("-Mu", "file", "modify_file", "userset", "replace an access list from a file"),
    _option("-du", "user_list listname_list", "delete_users", "userset", "delete users from access lists"),
    _option("-dul", "listname_list", "delete", "userset", "delete access lists"),
    _option("-su", "listname_list", "show", "userset", "show access lists"),
    _option("-sul", "", "list", "userset", "list all access lists"),
    _option("-auser", "", "add", "user", "add a user in the editor"),
    _option("-Auser", "file", "add_file", "user", "add a user from a file"),
    _option("-muser", "user", "modify", "user", "change a user in the editor"),
    _option("-Muser", "file", "modify_file", "user", "replace a user from a file"),
    _option("-duser", "user_list", "delete", "user", "delete users"),
    _option("-suser", "user_list", "show", "user", "show users"),
    _option("-suserl", "", "list", "user", "list all users"),
    _option("-aprj", "", "add", "project", "add a project in the editor"),
    _option("-Aprj", "file", "add_file", "project", "add a project from a file"),
    _option("-mprj", "project", "modify", "project", "change a project in the editor"),
    _option("-Mprj", "file", "modify_file", "project", "replace a project from a file"),
    _option("-dprj", "project_list", "delete", "project", "delete projects"),
    _option("-sprj", "project", "show", "project", "show a project"),
    _option("-sprjl", "", "list", "project", "list all projects"),
    _option("-arqs", "[rqs_list]", "add", _RQS, "add resource quota sets in the editor"),
    _option("-Arqs", "file", "add_file", _RQS, "add resource quota sets from a file"),
    _option("-mrqs", "[rqs_list]", "modify", _RQS, "change resource quota sets in the editor"),
    _option("-Mrqs", "file [rqs_list]", "modify_file", _RQS, "replace resource quota sets from a file"),
    _option("-drqs", "rqs_list", "delete", _RQS, "delete resource quota sets"),
    _option("-srqs", "[rqs_list]", "show", _RQS, "show resource quota sets"),
    _option("-srqsl", "", "list", _RQS, "list all resource quota sets"),
    _option("-aconf", "host_list", "add", _CONF, "add configurations of hosts in the editor"),
    _option("-Aconf", "file_list", "add_file", _CONF, "add configurations of hosts from files of their names"),
    _option("-mconf", "[host_list|global]", "modify", _CONF, "change configurations in the editor"),
    _option("-Mconf", "file_list", "modify_file", _CONF, "replace configurations from files of their names"),
    _option("-dconf", "host_list", "delete", _CONF, "delete configurations of hosts"),
    _option("-sconf", "[host_list|global]", "show", _CONF, "show configurations"),
    _option("-sconfl", "", "list", _CONF, "list the configurations of hosts"),
    _option("-msconf", "", "modify", "scheduler", "change the scheduler configuration in the editor"),
    _option("-Msconf", "file", "modify_file", "scheduler", "replace the scheduler configuration from a file"),
    _option("-ssconf", "", "show", "scheduler", "show the scheduler configuration"),
    _option("-sss", "", "scheduler_host", "", "show the host of the scheduler"),
    _option("-astree", "", "add", "share_tree", "make the share tree in the editor"),
    _option("-Astree", "file", "add_file", "share_tree", "make the share tree from a file"),
    _option("-mstree", "", "modify", "share_tree", "change the share tree in the editor"),
    _option("-Mstree", "file", "modify_file", "share_tree", "replace the share tree from a file"),
    _option("-dstree", "", "delete", "share_tree", "delete the share tree"),
    _option("-sstree", "", "show", "share_tree", "show the share tree"),
    _option("-sst -bonsai", "", "drawn", "share_tree", "show the share tree as a tree"),
    _option("-astnode", "node_shares_list", "add_nodes", "share_tree", "add nodes to the share tree"),
    _option("-mstnode", "node_shares_list", "modify_nodes", "share_tree", "change shares of nodes of the share tree"),
    _option("-dstnode", "node_list", "delete_nodes", "share_tree", "delete nodes of the share tree"),
    _option("-sstnode -rsstnode", "node_list", "nodes", "share_tree", "show nodes of the share tree and those below"),
    _option("-clearusage", "[user_list]", "clear_usage", "", "clear the usage in the share tree"),
    _option("-sds", "", "detached", "cluster_queue", "show settings of queues that no host uses"),
    _option("-sobjl", "object attribute value", "search", "", "list objects with an attribute of this value"),
    _option("-aattr", "object attribute value instance...", "add", "attribute", "add to a list attribute"),
    _option("-Aattr", "object file instance...", "add", "attribute_file", "add the elements in a file to list attributes"),
    _option("-dattr", "object attribute value instance...", "delete", "attribute", "delete from a list attribute"),
    _option("-Dattr", "object file instance...", "delete", "attribute_file", "delete the elements in a file from lists"),
    _option("-mattr", "object attribute value instance...", "modify", "attribute", "change an attribute or elements"),
    _option("-Mattr", "object file instance...", "modify", "attribute_file", "change attributes by a file"),
    _option("-rattr", "object attribute value instance...", "replace", "attribute", "replace an attribute"),
    _option("-Rattr", "object file instance...", "replace", "attribute_file", "replace attributes by a file"),
    Option("-mqattr", "[queue] attribute value name...", "qconf", _queue_lines("attribute"), "", "replace a line of queues"),
    Option("-Mqattr", "[queue] file name...", "qconf", _queue_lines("attribute_file"), "", "replace lines of queues by a file"),
    _option("-purge", "object attributes instance...", "purge", "attribute", "delete settings of a host or group"),
    _option("-ke", "host_list", "shutdown", "execd", "shut down execution daemons"),
    _option("-kej", "host_list", "shutdown_jobs", "execd", "shut down execution daemons and end their jobs"),
    _option("-km", "", "shutdown", "qmaster", "shut down the qmaster"),
    _option("-ks", "", "shutdown", "scheduler", "shut down the scheduler"),
    _option("-kt", "thread", "shutdown", "thread", "shut down a part of the qmaster: scheduler"),
    _option("-at", "thread", "start_thread", "thread", "start a part of the qmaster: scheduler"),
    _option("-tsm", "", "monitor", "", "write the pending reasons of the next scheduling run into a file"),
    _option("-secl", "", "list_event_clients", "", "list all event clients"),
    _option("-kec", "evid_list", "end_event_clients", "", "end event clients, or all"),
    Option("-json", "", "qconf", flag, "json", "with options that show: print JSON"),
    _option("-help --help", "", "help", "", "print this help"),
)
