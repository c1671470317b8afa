"""Resource requests of -l: `mem_free=4G,arch="lx*|sol*",exclusive`.

Owns their division and print form; does not know types. Must not import anything slow: clients load it.
Called by the option table, the JSV protocol and selection commands. Readers raise InvalidValueError.

Grammar (sge_submit(1) -l): requests = request {("," | " ") request}      request = name ["=" value]
A name without a value requests TRUE. Text between two equal quotes is taken as it is, without the quotes.
Deviation: in 8.1.9 separators divide within quotes, too. Source of the blank: O.
"""


from gridengine.errors import InvalidValueError
from gridengine.syntax.lists import quoted_items

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATORS = ", "


def split_requests(text: str) -> list[str]:
    """The requests as they were written, with their quotes."""
    return quoted_items(text, _SEPARATORS)


def parse_requests(text: str) -> list[tuple[str, str]]:
    """(name, value) of each request in order; a later request for a name replaces the value of the first, in its position."""
    requests: dict[str, str] = {}
    for element in split_requests(text):
        name, equal, value = _unquoted(element).partition("=")
        if not name:
            raise InvalidValueError(f'"{text}": a resource name is missing')
        if equal and value == "":
            raise InvalidValueError(f'"{text}": the resource "{name}" has no value behind its equal sign')
        requests[name] = value if equal else "TRUE"
    return list(requests.items())


def format_requests(requests: "Iterable[tuple[str, str]]") -> str:
    """`a=b,c=d`; a value with a separator or a quote in it is quoted."""
    return ",".join(f"{name}={_quoted(value)}" for name, value in requests)


def _quoted(value: str) -> str:
    if not any(character in value for character in ", \"'"):
        return value
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}"


def _unquoted(text: str) -> str:
    """The text without its quotes. Raises InvalidValueError for an unclosed quote."""
    if "'" not in text and '"' not in text:
        return text
    plain, quote = "", ""
    for character in text:
        if character == quote:
            quote = ""
        elif quote or character not in "\"'":
            plain += character
        else:
            quote = character
    if quote:
        raise InvalidValueError(f"the closing {quote} is missing in {text}")
    return plain
