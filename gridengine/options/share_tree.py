"""Options of sge_share_mon. Source: sge_share_mon(1); statement PR-11.

Owns the rows, and the names of the fields that can be printed, in their order.
"""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

FIELDS = (
    "curr_time usage_time node_name user_name project_name shares job_count level% total% long_target_share "
    "short_target_share actual_share usage cpu mem io ltcpu ltmem ltio"
).split()
MODES = ("w", "a", "x")


def _fields(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    fold.names(target, field, values)
    for name in target[field]:
        if name not in FIELDS:
            raise InvalidValueError(f'there is no field "{name}", only {", ".join(FIELDS)}')


def _format(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    """A format of printf(3) with exactly one %s, such as `%-20s`."""
    import re

    if not re.fullmatch(r"(?:[^%]|%%)*%-?[0-9]{0,4}(?:\.[0-9]{1,4})?s(?:[^%]|%%)*", values[0]):
        raise InvalidValueError(f'"{values[0]}" is no format with one %s')
    target[field] = values[0]


def _mode(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    if values[0] not in MODES:
        raise InvalidValueError(f'"{values[0]}" is no output mode, {", ".join(MODES)} are expected')
    target[field] = values[0]


SHARE_TREE_OPTIONS: tuple[Option, ...] = (
    Option("-c", "count", "sge_share_mon", fold.count, "count", "print this many records; without end if left out"),
    Option("-d", "delimiter", "sge_share_mon", fold.text, "columns", "print this between columns, not a tab"),
    Option("-f", "field_list", "sge_share_mon", _fields, "fields", "print these fields"),
    Option("-h", "", "sge_share_mon", fold.flag, "header", "begin with the names of the fields"),
    Option("-help --help", "", "sge_share_mon", fold.flag, "help", "print this help"),
    Option("-i", "interval", "sge_share_mon", fold.count, "interval", "seconds between records, 15 if left out"),
    Option("-l", "delimiter", "sge_share_mon", fold.text, "lines", "print this behind each node, not a newline"),
    Option("-m", "output_mode", "sge_share_mon", _mode, "mode", "how -o opens the file: w (new), a (append), x (must not exist)"),
    Option("-n", "", "sge_share_mon", fold.flag, "named", "print name=value"),
    Option("-o", "output_file", "sge_share_mon", fold.text, "output", "print to this file"),
    Option("-r", "delimiter", "sge_share_mon", fold.text, "records", "print this between records, not a newline"),
    Option("-s", "string_format", "sge_share_mon", _format, "format", "print texts in this format of printf(3)"),
    Option("-t", "", "sge_share_mon", fold.flag, "dates", "print times as dates, not as seconds since 1970"),
    Option("-u", "", "sge_share_mon", fold.flag, "decayed", "usage decayed until now, as it is always shown"),
    Option("-x", "", "sge_share_mon", fold.flag, "leaves", "print leaves only"),
)
