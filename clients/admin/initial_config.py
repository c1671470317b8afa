"""The initial configuration of a cell: the default configuration of the installation, adapted to the given hosts.

Owns `common/initial-config`, which the qmaster reads when its spool is empty; until then an administrator may edit it. The files
have qconf's syntax; `gridengine.config.sample_cell` defines their names. Called by `creation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clients.admin.cell_directory import Objects
from clients.admin.cell_plan import CellPlan
from clients.admin.errors import AdminError
from clients.admin.host_consumables import count_gpus, count_memory
from gridengine.config.complexes import value_of
from gridengine.config.hosts import ExecHost, HostGroup
from gridengine.config.objects import ConfigObject
from gridengine.config.sample_cell import read_cell
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.syntax.lists import is_none, join_pairs, split_pairs
from gridengine.syntax.object_file import format_complex_table, format_object, parse_complex_table, parse_objects
from gridengine.terminal.hints import did_you_mean

#: Entries of `cluster-config` that are no objects.
NOT_OBJECTS = frozenset({"logrotate", "systemd", "sensors", "jsv", "scripts", "grafana", "prometheus", "README.md"})


def write_initial_config(directory: Path, plan: CellPlan, cluster_config: Path) -> None:
    """Write the initial configuration of `plan` to `directory`. AdminError: the configuration is not valid."""
    sources = sorted(path.relative_to(cluster_config) for path in cluster_config.rglob("*") if path.is_file())
    texts = {str(path): (cluster_config / path).read_text() for path in sources if path.parts[0] not in NOT_OBJECTS}
    try:
        texts = adapt_config(texts, plan)
        read_cell(texts)
    except (ConfigError, KeyError) as error:
        raise AdminError(f"the initial configuration, made from {cluster_config}, is not valid: {error}") from error
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)


def initial_mailer(directory: Path) -> str:
    """The path of the mailer in the initial configuration."""
    (entries,) = parse_objects("configuration", (directory / "configuration").read_text())
    return next(value for attribute, value, _ in entries if attribute == "mailer")


#: the reporting that the accounting database needs
_REPORTING = "accounting=true reporting=true flush_time=00:00:15 joblog=true sharelog=00:10:00"
_REPORTED = "cpu,np_load_avg,mem_free,mem_used,virtual_free,slots"


def adapt_config(texts: Mapping[str, str], plan: CellPlan) -> dict[str, str]:
    """Return the files of the default cell with the hosts, the admin user and the directories of `plan` in them.

    Source: IN-2 (all.q on @allhosts), QF-24 (managers, admin hosts, submit hosts).
    """
    hosts = dict.fromkeys([plan.master_host, *plan.exec_hosts])
    result = dict(texts)
    result["managers"] = _lines(dict.fromkeys(["root", plan.admin_user]))
    result["admin_hosts"] = result["submit_hosts"] = _lines(hosts)
    result |= _consumables(texts["complexes"], plan)
    result["hostgroups/@allhosts"] = _text(
        HostGroup.from_attributes({"group_name": "@allhosts", "hostlist": " ".join(plan.exec_hosts) or "NONE"})
    )
    result["queues/all.q"] = _replace_attribute(texts["queues/all.q"], "slots", str(plan.slots))
    if plan.load_thresholds is not None:
        thresholds = _thresholds(plan.load_thresholds, texts["complexes"])
        result["queues/all.q"] = _replace_attribute(result["queues/all.q"], "load_thresholds", thresholds)
    spool = plan.bootstrap["execd_spool_dir"]
    result["configuration"] = _replace_attribute(texts["configuration"], "execd_spool_dir", spool)
    if plan.arco:
        result["configuration"] = _replace_attribute(result["configuration"], "reporting_params", _REPORTING)
        result["exec_hosts/global"] = _replace_attribute(texts["exec_hosts/global"], "report_variables", _REPORTED)
    return result


def _thresholds(text: str, complexes: str) -> str:
    """The thresholds with full names. AdminError: an unknown name, or an invalid value."""
    if is_none(text):
        return text
    rows = [{column: cell for column, cell, _ in row} for row in parse_complex_table(complexes)]
    known = {row["shortcut"]: row for row in rows} | {row["name"]: row for row in rows}
    full: dict[str, str] = {}
    try:
        for name, value in split_pairs(text):
            if name not in known:
                raise InvalidValueError("; ".join(filter(None, (f'there is no complex "{name}"', did_you_mean(name, known)))))
            value_of(known[name]["type"], value)
            full[known[name]["name"]] = value
    except InvalidValueError as fault:
        raise AdminError(f"--load-thresholds {text}: {fault}") from None
    return join_pairs(full.items())


def _consumables(complexes: str, plan: CellPlan) -> dict[str, str]:
    """The table of complexes and the exec hosts, with memory and GPUs as consumables."""
    rows = [{column: cell for column, cell, _ in row} for row in parse_complex_table(complexes)]
    made: Objects = {
        "complex": {row["name"]: row for row in rows},
        "exec_host": {host: ExecHost.template(host).attributes() for host in plan.exec_hosts},
    }
    for host, memory in plan.memory.items():
        count_memory(made, host, memory, plan.slots)
    for host, gpus in plan.gpus.items():
        count_gpus(made, host, gpus)
    hosts = {f"exec_hosts/{host}": format_object("exec_host", made["exec_host"][host]) for host in plan.exec_hosts}
    return hosts | {"complexes": format_complex_table(made["complex"].values())}


def _lines(names: Mapping[str, None]) -> str:
    return "".join(f"{name}\n" for name in names)


def _text(model: ConfigObject) -> str:
    return "".join(f"{name:<22} {value}\n" for name, value in model.attributes().items())


def _replace_attribute(text: str, attribute: str, value: str) -> str:
    """Return the text of an object with another value of one attribute, continuation lines included."""
    lines: list[str] = []
    continued = replaced = False
    for line in text.splitlines():
        ours = line.split(None, 1)[:1] == [attribute]
        if ours:
            replaced = True
            lines.append(f"{attribute:<22} {value}")
        elif not continued:
            lines.append(line)
        continued = line.endswith("\\") and (ours or continued)
    if not replaced:
        raise KeyError(attribute)
    return "\n".join(lines) + "\n"
