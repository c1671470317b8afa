"""The value types of complex(5) and sge_types(5): TIME, MEMORY, INT, DOUBLE, BOOL and date_time.

Owns how these are read and printed. Must not import anything slow: clients load it. Called by everything that
reads a request, a load value or a configuration. All readers raise InvalidValueError with a reason.
"""

from gridengine.errors import InvalidValueError

# typing and re are left out on purpose: together they cost more than all other imports of a command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import tzinfo

INFINITY = float("inf")
#: largest unsigned number that a configuration may hold
MAX_NUMBER = 4294967295

_INFINITE = frozenset(("infinity", "inf"))
_MULTIPLIERS = {"k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30, "t": 10**12, "T": 2**40}
_TRUE = frozenset(("true", "1", "y", "yes"))
_FALSE = frozenset(("false", "0", "n", "no"))
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_OCTAL_DIGITS = frozenset("01234567")
_DECIMAL_CHARACTERS = frozenset("0123456789.eE+-")


def _based(text: str) -> int | None:
    """The value of a hexadecimal (0x) or octal (leading 0) constant, None for any other text."""
    if text[:2] in ("0x", "0X") and 2 < len(text) < 20 and _HEX_DIGITS.issuperset(text[2:]):
        return int(text, 16)
    if text[:1] == "0" and 1 < len(text) < 25 and _OCTAL_DIGITS.issuperset(text):
        return int(text, 8)
    return None


def _is_plain(text: str) -> bool:
    """Whether the text is digits and no octal constant."""
    return text.isascii() and text.isdigit() and len(text) < 19 and (text[0] != "0" or text == "0")


def _decimal(text: str) -> float | None:
    """The value of an unsigned decimal number, also in scientific notation, None for any other text."""
    if text[:1] in ("", "+", "-", "e", "E") or len(text) > 400 or not _DECIMAL_CHARACTERS.issuperset(text):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _constant(text: str, noun: str) -> float:
    """A positive decimal (also fractional), hexadecimal (0x) or octal (leading 0) constant."""
    based = _based(text)
    if based is not None:
        return based
    if _is_plain(text):
        return int(text)
    value = None if text.isdecimal() and text.startswith("0") else _decimal(text)
    if value is not None:
        return value
    if text.startswith("-") and _decimal(text[1:]) is not None:
        raise InvalidValueError(f'"{text}" is negative, {noun} must not be')
    raise InvalidValueError(f'"{text}" is not {noun}')


def parse_time(text: str) -> float:
    """Seconds of a time specifier: a constant, `h:m:s` with empty fields for zero, or INFINITY; parts of a second count.

    Source: CQ-34, sge_types(5) time_specifier. Infinite gives `INFINITY`.
    """
    if text.lower() in _INFINITE:
        return INFINITY
    if ":" not in text:
        return _constant(text, "a time")
    fields = [_time_field(field) for field in text.split(":")]
    if len(fields) != 3 or None in fields:
        raise InvalidValueError(f'"{text}" is not a time: seconds, hours:minutes:seconds or INFINITY is expected')
    if max(map(len, text.split(":"))) > 15:
        raise InvalidValueError(f'"{text}" is too long for a time')
    hours, minutes, seconds = (field or 0 for field in fields)
    return hours * 3600 + minutes * 60 + seconds


def _time_field(text: str) -> float | None:
    """A number between colons, 0 for no text: decimal, also with a fraction or leading zeros, or hexadecimal; else None."""
    if not text or (text.isascii() and text.isdigit()):
        return int(text[:16] or "0")
    return _based(text) if text[:2] in ("0x", "0X") else _decimal(text)


def parse_memory(text: str) -> float:
    """Bytes of a memory specifier: a constant with an optional multiplier k K m M g G t T, or INFINITY.

    Source: CQ-35, sge_types(5) memory_specifier (lower case: powers of 1000, upper case: of 1024).
    """
    if text.lower() in _INFINITE:
        return INFINITY
    multiplier = _MULTIPLIERS.get(text[-1:], 1)
    number = text[:-1] if multiplier != 1 else text
    try:
        return _constant(number, "a memory size") * multiplier
    except InvalidValueError:
        if number.startswith("-"):
            raise InvalidValueError(f'"{text}" is negative, a memory size must not be') from None
        raise InvalidValueError(
            f'"{text}" is not a memory size: a number with at most one letter of kKmMgGtT, or INFINITY is expected'
        ) from None


def parse_quantity(text: str) -> float:
    """The value of a complex of the type INT or DOUBLE: a constant with an optional sign and multiplier, or INFINITY.

    Multipliers and octal constants as in memory sizes: 1k, 0x10 and 010 are 1000, 16 and 8. The caller decides whether
    decimals are allowed. Source: CX-4; O for all but plain numbers.
    """
    sign = -1 if text.startswith("-") else 1
    bare = text[1:] if text[:1] in ("-", "+") else text
    if bare.lower() in _INFINITE:
        return sign * INFINITY
    multiplier = _MULTIPLIERS.get(bare[-1:], 1)
    number = bare[:-1] if multiplier != 1 else bare
    try:
        return float(sign * _constant(number, "a number") * multiplier)
    except InvalidValueError:
        raise InvalidValueError(f'"{text}" is not a number, with at most one letter of kKmMgGtT behind it') from None


def parse_number(text: str, low: int = 0, high: int = MAX_NUMBER) -> int:
    """An integer of a configuration: decimal, also with leading zeros, or hexadecimal, within low..high (both included).

    Source: O (`seq_no 010` is ten in 8.1.9).
    """
    sign = -1 if text.startswith("-") else 1
    digits = text[1:] if text[:1] in ("-", "+") else text
    if digits.isascii() and digits.isdigit() and len(digits) < 25:
        value = int(digits)
    elif digits[:2] in ("0x", "0X") and (based := _based(digits)) is not None:
        value = based
    else:
        raise InvalidValueError(f'"{text}" is not an integer')
    if not low <= sign * value <= high:
        raise InvalidValueError(f"{text} is not within {low} and {high}")
    return sign * value


def parse_double(text: str) -> float:
    """A real number in decimal or scientific notation, with an optional sign; INFINITY is accepted. Source: CX-4."""
    bare = text[1:] if text[:1] in ("-", "+") else text
    if bare.lower() in _INFINITE:
        return -INFINITY if text[0] == "-" else INFINITY
    value = _decimal(bare)
    if value is None:
        raise InvalidValueError(f'"{text}" is not a number')
    return -value if text[0] == "-" else value


def parse_bool(text: str) -> bool:
    """TRUE/FALSE in any case, 1/0, y/n, yes/no."""
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise InvalidValueError(f'"{text}" is neither TRUE nor FALSE')


def format_bool(value: bool) -> str:
    """TRUE or FALSE."""
    return "TRUE" if value else "FALSE"


def format_time(seconds: float) -> str:
    """`hh:mm:ss`, hours growing beyond two digits instead of a field for days (X-16); `infinity` if infinite."""
    if seconds == INFINITY:
        return "infinity"
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def counted(count: int, noun: str) -> str:
    """`1 job`, `3 jobs`, for people."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_duration(seconds: float) -> str:
    """A duration for people, in its two largest units: `4.5 s`, `1 min 12 s`, `2 h 5 min`, `3 d 4 h`; tenths below a minute."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, length, part, part_length in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= length:
            rest = whole % length // part_length
            return f"{whole // length} {unit}" + (f" {rest} {part}" if rest else "")
    raise AssertionError("more than a minute")


_LAST_MOMENT = 253402214400.0
"""Start of datetime's last day in UTC: no zone is a day ahead."""


def format_moment(moment: float, zone: "tzinfo") -> str:
    """A time (epoch s) for people: `2026-11-20 18:16:20`. A limit may lie beyond any calendar."""
    from datetime import datetime

    if moment > _LAST_MOMENT:
        return "a time after the year 9999"
    return f"{datetime.fromtimestamp(moment, zone):%Y-%m-%d %H:%M:%S}"


def format_memory(size: float) -> str:
    """Bytes as `4.000G`: three decimals and the largest fitting suffix of K M G T, none below 1024."""
    if size == INFINITY:
        return "infinity"
    for suffix, unit in (("T", 2**40), ("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if abs(size) >= unit:
            return f"{size / unit:.3f}{suffix}"
    return f"{size:.3f}"


def format_double(value: float) -> str:
    """Six decimals, `infinity` if infinite."""
    return "infinity" if value == INFINITY else f"{value:f}"


def parse_date_time(text: str, now: float, tz: "tzinfo | None" = None) -> int:
    """Epoch seconds of `[[CC]YY]MMDDhhmm[.SS]`.

    now: epoch seconds, for the year (and century) if left out; tz: time zone, None for the process's own.
    A year below 70 without a century is 20YY, else 19YY. Source: sge_types(5) date_time.
    """
    from datetime import datetime

    digits, dot, seconds = text.partition(".")
    if not (digits.isascii() and digits.isdigit() and len(digits) in (8, 10, 12)) or (
        dot and not (seconds.isascii() and seconds.isdigit() and len(seconds) == 2)
    ):
        raise InvalidValueError(f'"{text}" is not a date and time of the form [[CC]YY]MMDDhhmm[.SS], such as 12241800')
    if len(digits) == 12:
        year = int(digits[:4])
    elif len(digits) == 10:
        year = int(digits[:2]) + (2000 if int(digits[:2]) < 70 else 1900)
    else:
        year = datetime.fromtimestamp(now, tz).year
    month, day, hour, minute = (int(digits[-8:][i : i + 2]) for i in (0, 2, 4, 6))
    try:
        return int(datetime(year, month, day, hour, minute, int(seconds or "0"), tzinfo=tz).timestamp())
    except (ValueError, OverflowError) as error:
        raise InvalidValueError(f'"{text}" is not a date and time: {error}') from None
