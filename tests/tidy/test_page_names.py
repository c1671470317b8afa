"""Names and files in backticks in the pages for contributors exist in the code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.tidy.sources import ROOT, Source

PAGES = ("docs/architecture.md", "docs/map.md", "CONTRIBUTING.md")
CODE = ("gridengine", "daemons", "shepherd", "clients", "cluster-config", "packaging", "tools", "bench", "tests")
ONLY_IN_COMMENTS = frozenset(("Deviation",))
_QUOTED = re.compile(r"`([^`\n]+)`")
_MEMBER = re.compile(r"([A-Z]+[a-z]\w*)\.(\w+)")
_MODULE = re.compile(rf"(?!.*\.sock)({'|'.join(CODE)})(\.\w+)+")
_FILE = re.compile(r"[\w./-]+(?:\.(?:py|html|md|toml|lock)|/)")
_PLACE = re.compile(r"(?:common|active_jobs|/)|.*[A-Z]{3}")  # in a cell, or of any name
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_DEFINED = re.compile(r"(?:^ {4}(?:async )?(?:def )?|self\.)(\w+)", re.MULTILINE)
_PROSE = re.compile(r'"""(?:.|\n)*?"""|#.*')


@cache
def paths() -> frozenset[str]:
    """All files and directories of the project, `/` in front, directories also behind."""
    places = [ROOT / name for name in (*CODE, "docs")]
    found = [*ROOT.iterdir(), *places, *(path for place in places for path in place.rglob("*"))]
    return frozenset(f"/{path.relative_to(ROOT)}{'/' if path.is_dir() else ''}" for path in found)


@cache
def names() -> frozenset[str]:
    """Words of the code without its comments and docstrings, and of the names of its files."""
    texts = [_PROSE.sub("", source.text) for source in Source.of(*CODE) if not source.path.startswith("tests/tidy/")]
    others = [path for path in paths() if path.startswith(("/clients/drmaa", "/cluster-config", "/Makefile")) and path[-1] != "/"]
    texts += [(ROOT / path[1:]).read_text() for path in others]
    return frozenset(_NAME.findall(" ".join([*paths(), *texts]))) | ONLY_IN_COMMENTS


@cache
def members() -> dict[str, set[str]]:
    """Class -> methods and attributes that it or another class of this name defines."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for source in Source.of(*CODE[:4]):
        for node in source.statements():
            if isinstance(node, ast.ClassDef):
                lines = source.text.splitlines()[node.lineno - 1 : node.end_lineno]
                found[node.name].update(_DEFINED.findall("\n".join(lines)))
    return found


def is_known(text: str) -> bool:
    """Whether each name of a quoted text is one of the code."""
    if match := _MEMBER.match(text):
        return match[2] in members().get(match[1], ())
    if match := _MODULE.fullmatch(text):
        module, _, name = text.replace(".", "/").rpartition("/")
        return f"/{module}/{name}.py" in paths() or f"/{module}/{name}/" in paths() or _defines(f"{module}.py", name)
    if _FILE.fullmatch(text) and not _PLACE.match(text):
        is_simple = text.count("/") == 1 and text[-1] == "/"  # of the project, or of a cell
        return any(path.endswith(f"/{text}") for path in paths()) or (is_simple and text[:-1] in names())
    return names().issuperset(_NAME.findall(text))


def _defines(path: str, name: str) -> bool:
    definition = re.compile(rf"^(?:class |def |async def )?{name}\b", re.MULTILINE)
    return f"/{path}" in paths() and definition.search((ROOT / path).read_text()) is not None


def unknown(text: str) -> Iterator[str]:
    """Quoted texts of a page with a name that the code does not have."""
    return (quoted for quoted in dict.fromkeys(_QUOTED.findall(text)) if not is_known(quoted))


@pytest.mark.parametrize("page", PAGES)
def test_each_name_of_a_page_is_one_of_the_code(page: str) -> None:
    assert list(unknown((ROOT / page).read_text())) == []


def test_a_name_that_the_code_does_not_have_is_seen() -> None:
    good = "`State.branch(x)` `gridengine.state.state.State` `decide/jobs/` `max_unheard` `submission.py` `active_jobs/JOB.TASK/`"
    bad = ["State.nothing", "gridengine.state.State", "folder_of_nothing/", "nothing.py", "no_such_name = 3"]
    assert list(unknown(good + "".join(f" `{each}`" for each in bad))) == bad
