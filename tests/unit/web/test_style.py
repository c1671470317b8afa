"""The style sheet: its size, and the contrast of text and background, in light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daemons.web.static_files import DIRECTORY

STYLE = (DIRECTORY / "style.css").read_text()
TONES = ("ok", "busy", "wait", "warn", "bad", "off", "mark")
#: text, ground
PAIRS = [
    *((text, ground) for text in ("text", "soft", "accent", "accent-strong", "bad") for ground in ("ground", "paper", "sunk")),
    ("accent-strong", "accent-soft"),
    ("text", "accent-soft"),
    ("on-accent", "accent"),
    ("ground", "text"),
    *((tone, f"{tone}-soft") for tone in TONES),
    *(("text", f"{tone}-soft") for tone in TONES),
    *(("on-tone", tone) for tone in TONES),
]


def _colours(scheme: str) -> dict[str, str]:
    """Colours by name; those of dark are over those of light."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[: 2 if scheme == "dark" else 1]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6});", "".join(blocks)))


def _light(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    dark, light = sorted((_light(one), _light(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(scheme: str) -> None:
    colours = _colours(scheme)
    faint = {pair: contrast(*(colours[name] for name in pair)) for pair in PAIRS}
    assert {pair: round(found, 2) for pair, found in faint.items() if found < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_edges_of_fields_are_seen(scheme: str) -> None:
    colours = _colours(scheme)
    assert all(contrast(colours["edge"], colours[ground]) >= 3 for ground in ("paper", "ground", "sunk"))


def test_the_contrast_of_black_and_white() -> None:
    assert round(contrast("#000", "#ffffff"), 2) == 21


def test_the_style_sheet_stays_small() -> None:
    assert len(STYLE.encode()) < 28_000


def test_templates_have_neither_styles_nor_scripts_of_their_own() -> None:
    templates = Path(DIRECTORY.parent / "pages" / "templates").glob("*.html")
    own = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|hx-on|javascript:")
    assert [path.name for path in templates if own.search(path.read_text())] == []
