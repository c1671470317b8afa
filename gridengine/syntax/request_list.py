"""Resource requests of -l: `mem_free=4G,arch="lx*|sol*",exclusive`.

Owns their division and print form; knows nothing of types. Must not import anything slow: clients load it.
Called by the option table, the JSV protocol and selection commands. Readers raise SyntaxFault.

Grammar (sge_submit(1) -l): requests = request {"," request}      request = name ["=" value]
A name alone asks for TRUE. Text between two equal quotes is taken as it is, without the quotes.
"""

from collections.abc import Iterable

from gridengine.errors import SyntaxFault


def parse_requests(text: str) -> list[tuple[str, str]]:
    """(name, value) of each request in order; of several for one name the last counts, at the first one's place."""
    requests: dict[str, str] = {}
    for element in _divide(text):
        name, equal, value = element.partition("=")
        name = name.strip()
        if not name:
            raise SyntaxFault(f'"{text}": a resource name is missing')
        if equal and value == "":
            raise SyntaxFault(f'"{text}": the resource "{name}" has no value behind its equal sign')
        requests[name] = value if equal else "TRUE"
    return list(requests.items())


def format_requests(requests: Iterable[tuple[str, str]]) -> str:
    """`a=b,c=d`; a value with a comma or a quote in it is quoted."""
    return ",".join(f"{name}={_quoted(value)}" for name, value in requests)


def _quoted(value: str) -> str:
    if not any(character in value for character in ",\"'"):
        return value
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}"


def _divide(text: str) -> list[str]:
    """The elements between commas outside of quotes, quotes removed."""
    elements = [""]
    quote = ""
    for character in text:
        if quote:
            if character == quote:
                quote = ""
            else:
                elements[-1] += character
        elif character in "\"'":
            quote = character
        elif character == ",":
            elements.append("")
        else:
            elements[-1] += character
    if quote:
        raise SyntaxFault(f"the closing {quote} is missing in {text}")
    return elements
