"""In which form a command prints what it was told: a text for people, XML or JSON. Chosen once, by its options.

Owns the choice. Each form is a module here with the functions of `OutputForm`: `as_text`, `as_xml`, `as_json`; the other modules
print one kind of thing each. Called by the commands that have -xml.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    Fields = dict[str, Any]

    class OutputForm(Protocol):
        """What each form can print; all give pieces of the whole. `fields`: the options of the command."""

        @property
        def FOR_PEOPLE(self) -> bool:
            """Whether what is missing is said beside it, in words and by the exit status."""

        def write(self, pieces: "Iterable[str]") -> None:
            """Print the pieces."""

        def job_list(self, data: Fields, further: "Iterable[list[Any]]", fields: Fields, full: bool) -> "Iterator[str]":
            """`data`: running jobs, with `full` queue instances, too; `further`: [phase, rows] each, as they come."""

        def cluster_queues(self, rows: list[Fields], fields: Fields) -> "Iterator[str]": ...

        def job_details(self, data: Fields, fields: Fields) -> "Iterator[str]": ...

        def hosts(self, data: Fields, fields: Fields) -> "Iterator[str]": ...

        def quotas(self, rows: list[Fields]) -> "Iterator[str]": ...

        def reservations(self, data: Fields, fields: Fields) -> "Iterator[str]": ...


def output_of(fields: "Fields") -> "OutputForm":
    """The form that the options ask for; only its module is imported."""
    if fields.get("json"):
        from clients.render import as_json

        return as_json
    if fields.get("xml"):
        from clients.render import as_xml

        return as_xml
    from clients.render import as_text

    return as_text
