"""Names, lists of names and lists of `name=value` as they stand in configuration files and requests.

Owns the allowed characters of names and the division of lists. Must not import anything slow: clients load it.
Called by `gridengine.config`, the request list and the option table. Readers raise InvalidValueError.
Source: sge_types(5) object_name, host_name; CQ-5, CQ-24, CQ-36, QC-4, QC-30.
"""


from gridengine.errors import InvalidValueError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable

#: characters that no object name may have, besides blanks and non-printable characters
FORBIDDEN_IN_NAMES = frozenset("/:'´\\[]{}|()@%,\"")
RESERVED_NAMES = frozenset(("none", "all", "template"))
RESERVED_HOST_NAMES = frozenset(("global", "template", "all", "default", "unknown", "none"))
_MAX_NAME_LENGTH = 512
_MAX_HOST_NAME_LENGTH = 255


def is_none(text: str) -> bool:
    """Whether a value is empty: NONE in any case, or an empty text."""
    return text == "" or text.lower() == "none"


def none_as_null(text: str) -> str | None:
    """A configured command or path: None for none."""
    stripped = text.strip()
    return None if is_none(stripped) else stripped


def check_object_name(text: str) -> str:
    """The name itself. Source: CQ-36."""
    if not text:
        raise InvalidValueError("a name is missing")
    if len(text) > _MAX_NAME_LENGTH:
        raise InvalidValueError(f"a name may have up to {_MAX_NAME_LENGTH} characters, this one has {len(text)}")
    if text[0] in ".#":
        raise InvalidValueError(f'"{text}" is not a valid name: it must not begin with "{text[0]}"')
    for character in text:
        if character in FORBIDDEN_IN_NAMES or not "!" <= character <= "~":
            raise InvalidValueError(f'"{text}" is not a valid name: the character "{character}" is not allowed in it')
    if text.lower() in RESERVED_NAMES:
        raise InvalidValueError(f'"{text}" is reserved and cannot be a name')
    return text


def check_host_name(text: str) -> str:
    """A host name in lower case. Refuses reserved names and forbidden characters."""
    if len(text) > _MAX_HOST_NAME_LENGTH:
        raise InvalidValueError(f"a host name may have up to {_MAX_HOST_NAME_LENGTH} characters, this one has {len(text)}")
    allowed = text.isascii() and text.replace("-", "").replace(".", "").replace("_", "").isalnum()
    if not allowed or text[0] in "-.":
        raise InvalidValueError(f'"{text}" is not a valid host name')
    if text.lower() in RESERVED_HOST_NAMES:
        raise InvalidValueError(f'"{text}" is reserved and cannot be the name of a host')
    return text.lower()


def check_group_name(text: str) -> str:
    """The name of a host group, which begins with @. Source: HG-2."""
    if not text.startswith("@"):
        raise InvalidValueError(f'the name of a host group must begin with "@", "{text}" does not')
    try:
        check_object_name(text[1:])
    except InvalidValueError as fault:
        raise InvalidValueError(f'"{text}" is not a valid name of a host group: {fault}') from None
    return text


def check_host_identifier(text: str) -> str:
    """A host name, or a host group name with its @."""
    return check_group_name(text) if text.startswith("@") else check_host_name(text)


def split_names(text: str) -> tuple[str, ...]:
    """The names of a list divided by blanks or commas, in order, without repetitions; () for NONE."""
    if is_none(text):
        return ()
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def join_names(names: "Iterable[str]", separator: str = " ") -> str:
    """A list as it is printed, NONE if empty."""
    return separator.join(names) or "NONE"


def quoted_items(text: str, separators: str = ",") -> list[str]:
    """Items between separators, which do not divide within quotes; quotes stay, empty items are skipped.

    A quote that is not closed ends with the text.
    """
    if '"' not in text and "'" not in text:
        for separator in separators[1:]:
            text = text.replace(separator, separators[0])
        return [item for item in text.split(separators[0]) if item]
    items, quote = [""], ""
    for character in text:
        if character in separators and not quote:
            items.append("")
            continue
        items[-1] += character
        if quote or character in "\"'":
            quote = "" if character == quote else quote or character
    return [item for item in items if item]


def _elements(text: str) -> list[str]:
    """Elements between commas and blanks, which do not divide within parentheses; there a run of blanks is one blank."""
    if "(" not in text:
        return text.replace(",", " ").split()
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            raise InvalidValueError(f'"{text}" has a ")" without a "("')
        if depth or not (character.isspace() or character == ","):
            parts[-1] += character
        else:
            parts.append("")
    if depth:
        raise InvalidValueError(f'"{text}" has a "(" without a ")"')
    return [" ".join(part.split()).replace("( ", "(").replace(" )", ")") for part in parts if part]


def split_pairs(text: str, value_required: bool = True) -> list[tuple[str, str]]:
    """The `name=value` elements of a list divided by commas or blanks, in order; [] for NONE. Blanks within parentheses belong to
    the value.

    A name without `=value` is refused, or gets "" where value_required is False. A name that comes twice is refused.
    """
    if is_none(text):
        return []
    pairs: dict[str, str] = {}
    for element in _elements(text):
        name, equal, value = element.partition("=")
        if not name:
            raise InvalidValueError(f'"{element}" has no name before the equal sign')
        if "=" in value:
            raise InvalidValueError(f'"{element}" has more than one equal sign')
        if value_required and not value:
            raise InvalidValueError(f'"{name}" has no value, name=value is expected')
        if equal and not value:
            raise InvalidValueError(f'"{name}" has no value behind its equal sign')
        if name in pairs:
            raise InvalidValueError(f'"{name}" is given twice')
        pairs[name] = value
    return list(pairs.items())


def join_pairs(pairs: "Iterable[tuple[str, str]]") -> str:
    """`a=1,b=2`, a bare name where the value is "", NONE if empty."""
    return ",".join(f"{name}={value}" if value else name for name, value in pairs) or "NONE"
