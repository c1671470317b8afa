"""Resource quotas as qquota prints them, as a table and as XML.

Owns the lines. Called by qquota. Source: qquota(1), O for columns and elements; RQ-7. Deviation: long limits are not cut.
"""

_SCHEMA = "http://arc.liv.ac.uk/repos/darcs/sge/source/source/dist/util/resources/schemas/qquota/qquota.xsd"

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Row = dict[str, Any]


def table(rows: "list[Row]") -> "Iterator[str]":
    """A header and a line per row; no output without rows."""
    if not rows:
        return
    yield "resource quota rule limit                filter\n"
    yield "-" * 80 + "\n"
    for row in rows:
        value = row["limit"] if row["used"] is None else f"{row['used']}/{row['limit']}"
        filters = " ".join(map(_filter_text, row["filters"])) or "-"
        yield f"{row['rule']:<18} {row['resource'] + '=' + value:<20} {filters}\n"


def _filter_text(row: "list[Any]") -> str:
    scope, expanded, included, excluded = row
    names = ",".join([*included, *(f"!{name}" for name in excluded)])
    return f"{scope} {{{names}}}" if expanded else f"{scope} {names}"


def xml_rules(rows: "list[Row]") -> "Iterator[str]":
    """The whole document; names that a filter excludes have separate elements, such as xusers."""
    from clients.render.xml_jobs import DECLARATION, element, escape

    yield f'{DECLARATION}<qquota_result xmlns="{_SCHEMA}">\n'
    for row in rows:
        yield f" <qquota_rule name='{escape(row['rule'])}'>\n"
        for scope, _, included, excluded in row["filters"]:
            for names, tag in ((included, scope), (excluded, f"x{scope}")):
                for name in names:
                    yield element(tag, name, "   ")
        used = "" if row["used"] is None else f" value='{escape(row['used'])}'"
        yield f"   <limit resource='{escape(row['resource'])}' limit='{escape(row['limit'])}'{used}/>\n"
        yield " </qquota_rule>\n"
    yield "</qquota_result>\n"
