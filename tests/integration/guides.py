"""The guides of docs/guide are carried out: their files are written, their commands run, and the output must be the printed
output.

Defines the parts of a page, and the comparison of outputs. Only the tests of the guides call this module.

The fence names the kind of a block: a block with a title is the text of a file; `console` has commands behind `$ ` or `# ` with
their output, on a host if its title is `on NAME`; other blocks are for reading. In outputs all numbers and runs of blanks are
alike, `…` stands for any text, a line `…` for any lines. Commands that only look are asked again until they print it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.integration.cells import PATIENCE_S, ROOT, Done

GUIDES = ROOT / "docs" / "guide"
_FENCE = re.compile(r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\n]*)\")?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LOOKING = ("qstat", "qacct", "qexplain", "qhost", "qrstat", "qquota", "cat", "gridengine status", "gridengine arco run")


@dataclass(frozen=True)
class Command:
    """A command line of a guide, with its output. `host`: where it is typed, "" for any; `place`: for a person who looks;
    `by_user`: behind `$`, not behind `#`."""

    line: str
    output: str
    host: str
    place: str
    by_user: bool

    @property
    def only_looks(self) -> bool:
        return self.line.startswith(_LOOKING)

    def printed_by(self, done: Done) -> bool:
        """Whether the output of the command matches; a command without printed output must succeed."""
        if not self.output:
            return done.returncode == 0
        return re.fullmatch(_expected(self.output), _normalized(done.stdout + done.stderr), re.DOTALL) is not None


@dataclass(frozen=True)
class File:
    """A file of a guide, with its text."""

    name: str
    text: str


def steps(page: str) -> Iterator[Command | File]:
    """The actions of a reader of a page, in order."""
    text = (GUIDES / page).read_text()
    for fence in _FENCE.finditer(text):
        title = fence["title"] or ""
        place = f"{page}, line {text.count(chr(10), 0, fence.start()) + 1}"
        if fence["kind"] == "console":
            yield from _commands(fence["text"], title.removeprefix("on "), place)
        elif title:
            yield File(title, fence["text"])


def _commands(text: str, host: str, place: str) -> Iterator[Command]:
    for piece in re.split(r"^(?=[$#] )", text, flags=re.MULTILINE):
        line, _, output = piece.partition("\n")
        while line.endswith("\\"):
            more, _, output = output.partition("\n")
            line = line[:-1] + more.removeprefix("> ")
        if piece.strip():
            yield Command(line[2:], output.rstrip(), host, f"{place}: {line[2:]}", line[0] == "$")


def play(page: str, directory: Path, run: Callable[[Command], Done]) -> int:
    """Play a page, its files in a directory; how many commands it has. AssertionError: one prints something else."""
    count = 0
    for step in steps(page):
        if isinstance(step, File):
            (directory / step.name).write_text(step.text)
            (directory / step.name).chmod(0o755)
            continue
        count += 1
        done = run(step)
        deadline = time.monotonic() + PATIENCE_S
        while not step.printed_by(done) and step.only_looks and time.monotonic() < deadline:
            time.sleep(0.1)
            done = run(step)
        output_of = f"{done.stdout}{done.stderr}exit code {done.returncode}"
        assert step.printed_by(done), f"{step.place}\n{output_of}\nbut the guide has\n{step.output}"
    return count


def _normalized(output: str) -> str:
    """Output in which numbers, blanks and the length of rules say nothing."""
    lines = (re.sub(r"[ \t]+", " ", re.sub(r"\d+", "0", line)).strip() for line in output.rstrip().split("\n"))
    return re.sub(r"-{4,}", "----", "\n".join(lines))


def _expected(output: str) -> str:
    """The pattern that a guide's output is."""
    pattern = re.escape(_normalized(output)).replace(r"\ ", " ").replace("\\\n", "\n")
    return pattern.replace("\n…\n", "\n(.*\n)?").replace("…", ".*")
