"""Writes the table `Attributes` of the pages in `docs/formats/`, from the models and their help.

Called by `make pages`; a test checks that the pages agree.
"""

from __future__ import annotations

from pathlib import Path

from gridengine.config import KINDS
from gridengine.config.attribute_help import help_of
from gridengine.config.configuration import LOCAL

PAGES = Path(__file__).resolve().parent.parent / "docs" / "formats"
#: page of each kind of object; kinds whose objects are nothing but a name have none
FORMATS = {
    "cluster_queue": "queue_conf",
    "host_group": "hostgroup",
    "exec_host": "host_conf",
    "host_units": "host_units",
    "complex": "complex",
    "parallel_environment": "sge_pe",
    "checkpoint": "checkpoint",
    "calendar": "calendar_conf",
    "userset": "access_list",
    "user": "user",
    "project": "project",
    "resource_quota": "sge_resource_quota",
    "share_tree": "share_tree",
    "scheduler": "sched_conf",
    "configuration": "sge_conf",
}
_HEAD = ["| attribute | default | meaning |", "|---|---|---|"]


def table(kind: str) -> list[str]:
    """The lines of the table of a kind: its attributes in the order in which they are printed."""
    return [*_HEAD, *(_row(kind, name) for name in KINDS[kind].model_fields)]


def with_table(kind: str, page: str) -> str:
    """A page with its table made anew. Raises ValueError if it has no table."""
    lines = page.split("\n")
    begin = lines.index(_HEAD[0])
    end = next(at for at in range(begin, len(lines)) if not lines[at].startswith("|"))
    return "\n".join([*lines[:begin], *table(kind), *lines[end:]])


def _row(kind: str, name: str) -> str:
    field = KINDS[kind].model_fields[name]
    default = "" if field.is_required() or not field.default or kind == "share_tree" else f"`{field.default}` "
    text = help_of(kind)[name].text.replace("|", r"\|")
    own = "*host*. " if kind == "configuration" and name in LOCAL else ""
    return f"| `{name}` | {default}| {own}{text}".rstrip() + " |"


if __name__ == "__main__":
    for kind, name in FORMATS.items():
        path = PAGES / f"{name}.md"
        path.write_text(with_table(kind, path.read_text()))
