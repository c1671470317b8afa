"""qquota: the usage under resource quotas. Source: qquota(1); statement RQ-7."""

from clients import program
from clients.render import output_of
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
        return program.report_misuse("qquota", f'error: invalid option argument "{operands[0]}"')
    fields: dict[str, Any] = {}
    for option, values, location in default_settings("sge_qquota", options_of("qquota", QUOTA_OPTIONS)):
        option.apply(fields, values, location)
    fields.update(given)
    output = output_of(fields)
    for name in ("xml", "json", "help"):
        fields.pop(name, None)
    output.write(output.quotas(program.read("status", {"quotas": fields})["quotas"]))
    return 0
