"""`make prose`: the share of docstring sentences with a pronoun in place of a noun, by directory, and the worst sentences.

Rule: docstrings of modules, classes, functions and fields are cut into sentences; code in backticks counts as a noun, and lines
"Source: ..." do not count. A sentence leans on a pronoun if it has one of these:

- anywhere: what, whatever, whoever, nobody, somebody, anybody, everybody, ones;
- who, whom, whose without a noun before: at the head, or behind a mark or a function word ("for whom", not "users who");
- one, those, others, another, both, some without a noun behind: before a mark or a function word ("those of", not "those jobs";
  "one of" is a number);
- that, this, these before a mark or before "of" ("that of the host"), and as the subject at the head of a sentence;
- it, they at the head of a sentence, or behind a colon or semicolon;
- which, how, why at the head, where a noun names the answer better ("Liveness of ...", not "Which parts live").

The count is a ratchet for all sentences together (`tests/tidy/test_prose.py`), not a verdict on a single sentence. The first
share was 36 %.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("gridengine", "daemons", "shepherd", "clients")
SHOWN = 30
_ALWAYS = frozenset("what whatever whoever whomever nobody somebody anybody everybody ones".split())
_RELATIVE = frozenset("who whom whose".split())
_WITHOUT_NOUN = frozenset("one those others another both some".split())
_POINTING = frozenset("that this these".split())
_SUBJECTS = frozenset("it they".split())
_QUESTIONS = frozenset("which how why".split())
_FUNCTION_TOKENS = frozenset(
    "a an the of to in on at by for from with without and or but nor if unless when while where whether than as is "
    "are was were be been being has have had do does did may can must shall will would could should not no so that "
    "which who whom whose what it its they them their this these those then there here about after before until since "
    "between into over under out up down off per each every all any some also only alone again yet still already too "
    "else because says say said tells tell told asks ask asked knows know known goes go gives give given makes make "
    "made takes take taken comes come does names needs wants may".split()
)
_TOKEN = re.compile(r"[A-Za-z][A-Za-z'-]*|[^\sA-Za-z]")
_CODE = re.compile(r"`[^`]*`")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(\"'])")
_PARAGRAPH_END = re.compile(r"\n\s*\n")


class Sentence(NamedTuple):
    """A sentence of a docstring. `path`: of its file, from the root of the project."""

    path: str
    text: str

    @property
    def directory(self) -> str:
        """The directory, at most three levels deep."""
        return "/".join(self.path.split("/")[:-1][:3])


def sentences_of(path: str, text: str) -> Iterator[Sentence]:
    """Sentences of all docstrings of a Python file."""
    for docstring in _docstrings(ast.parse(text)):
        for paragraph in _PARAGRAPH_END.split(docstring):
            for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
                if re.search(r"[a-z]{2}", sentence) and not sentence.startswith("Source:"):
                    yield Sentence(path, sentence)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Docstrings of modules, classes, functions, and of the assignments that they follow."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        if isinstance(node, ast.Module | ast.ClassDef):
            for before, statement in zip(node.body, node.body[1:], strict=False):
                is_field = isinstance(before, ast.Assign | ast.AnnAssign)
                if is_field and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    yield str(statement.value.value)


def pronouns_in(sentence: str) -> list[str]:
    """The pronouns that a sentence uses in place of a noun, in order; see the rule above."""
    tokens = [token.lower() for token in _TOKEN.findall(_CODE.sub("Code", sentence))]
    triples = zip(["", *tokens], tokens, [*tokens[1:], "."], strict=False)
    return [token for before, token, after in triples if _replaces_noun(before, token, after)]


def _replaces_noun(before: str, token: str, after: str) -> bool:
    """Whether a token stands for a noun. `before`, `after`: its neighbours, "" and "." at the ends of the sentence."""
    head, before_mark = not before, not after[0].isalpha()
    alone = before_mark or after in _FUNCTION_TOKENS
    if token in _RELATIVE:
        return head or not before[0].isalpha() or before in _FUNCTION_TOKENS
    if token in _WITHOUT_NOUN:
        return alone and (token, after) != ("one", "of")
    if token in _POINTING:
        return before_mark or after == "of" or (head and alone)
    if token in _SUBJECTS:
        return head or before in (":", ";")
    return token in _ALWAYS or (head and token in _QUESTIONS)


def sentences_below(directories: Iterable[str]) -> list[Sentence]:
    """All docstring sentences of the files in these directories, which are named from the root of the project."""
    files = sorted(file for directory in directories for file in (ROOT / directory).rglob("*.py"))
    return [each for file in files for each in sentences_of(str(file.relative_to(ROOT)), file.read_text())]


def leaning_share(sentences: list[Sentence]) -> float:
    """The part of these sentences that lean on a pronoun, 0 to 1."""
    return sum(bool(pronouns_in(sentence.text)) for sentence in sentences) / max(1, len(sentences))


def main() -> None:
    """Print the share of each directory, the number of each pronoun, and the worst sentences."""
    sentences = sentences_below((*PROGRAMS, "tests"))
    directories: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        directories.setdefault(sentence.directory, []).append(sentence)
    for directory in sorted(directories, key=lambda directory: -leaning_share(directories[directory])):
        print(f"{leaning_share(directories[directory]):6.1%} of {len(directories[directory]):5}  {directory}")
    print(f"{leaning_share(sentences):6.1%} of {len(sentences):5}  all\n")
    counts = Counter(pronoun for sentence in sentences for pronoun in pronouns_in(sentence.text))
    print(", ".join(f"{pronoun} {count}" for pronoun, count in counts.most_common()))
    shown = int(sys.argv[1]) if sys.argv[1:] else SHOWN
    for sentence in sorted(sentences, key=lambda sentence: -len(pronouns_in(sentence.text)))[:shown]:
        print(f"\n{len(pronouns_in(sentence.text))}  {sentence.path}\n   {sentence.text}")


if __name__ == "__main__":
    main()
