"""The output forms of a command: a text for people, XML or JSON. Chosen once, by its options.

Owns the choice. Each form is a module of this package with the functions of `OutputForm`: `as_text`, `as_xml`, `as_json`; every
other module prints one kind of object. Called by the commands that have -xml.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    Fields = dict[str, Any]

    class OutputForm(Protocol):
        """The functions of each form; they return the output in pieces. `fields`: the options of the command."""

        @property
        def FOR_PEOPLE(self) -> bool:
            """Whether missing objects are reported separately, by messages and by the exit status."""

        def write(self, pieces: "Iterable[str]") -> None:
            """Print the pieces."""

        def job_list(self, data: Fields, further: "Iterable[list[Any]]", fields: Fields, full: bool) -> "Iterator[str]":
            """`data`: running jobs, and with `full` queue instances; `further`: [phase, rows] each, as they come."""

        def cluster_queues(self, rows: list[Fields], fields: Fields) -> "Iterator[str]": ...

        def job_details(self, data: Fields, fields: Fields) -> "Iterator[str]": ...

        def hosts(self, data: Fields, fields: Fields) -> "Iterator[str]": ...

        def quotas(self, rows: list[Fields]) -> "Iterator[str]": ...

        def reservations(self, data: Fields, fields: Fields) -> "Iterator[str]": ...


def output_of(fields: "Fields") -> "OutputForm":
    """The form that the options request; only its module is imported."""
    if fields.get("json"):
        from clients.render import as_json

        return as_json
    if fields.get("xml"):
        from clients.render import as_xml

        return as_xml
    from clients.render import as_text

    return as_text
