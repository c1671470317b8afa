"""qquota: what is in use under resource quotas. Source: qquota(1); statement RQ-7."""

import sys

from clients import program
from clients.request_files import default_settings
from gridengine.options.option import options_of
from gridengine.options.quota import QUOTA_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def qquota(arguments: list[str]) -> int:
    """Print the rules that the options select; the exit status."""
    given, operands = program.simple_options("qquota", QUOTA_OPTIONS, arguments)
    if operands:
        return program.misused("qquota", QUOTA_OPTIONS, "", f'error: invalid option argument "{operands[0]}"')
    fields: dict[str, Any] = {}
    for option, values, place in default_settings("sge_qquota", options_of("qquota", QUOTA_OPTIONS)):
        option.apply(fields, values, place)
    fields.update(given)
    xml, as_json = fields.pop("xml", False), fields.pop("json", False)
    fields.pop("help", None)
    rows = program.read("status", {"quotas": fields})["quotas"]
    if as_json:
        from clients.render import json_records

        program.print_json(json_records.quotas(rows))
        return 0
    from clients.render import quotas as render

    if xml:
        sys.stdout.writelines(render.xml_rules(rows))
    else:
        program.show(render.table(rows))
    return 0


def main() -> int:
    return program.run("qquota", qquota)
