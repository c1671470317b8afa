"""Turns a page of the manual, written in Markdown, into a manual page for `man`.

Owns how each piece of Markdown looks there: headings, paragraphs, lists, tables, commands. A row of a table becomes an entry:
its first cell the term, the cells between in brackets behind it, its last cell the text. Must not know which pages there are:
`manual_pages` does, the only caller.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_WIDTH = 78
_TITLE = re.compile(r"(?P<name>\S+): (?P<purpose>.+)")
#: characters that mean something else to roff, or that a terminal may not have
_SPECIAL = {"\\": r"\e", "-": r"\-", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga", "'": r"\(aq", '"': r"\(dq", "…": "...", "→": "->"}
_PAGE_LINK = re.compile(r"^(?:\.\./(?P<directory>\w+)/)?(?P<page>[\w-]+)\.md")


@dataclass(frozen=True)
class ManualPage:
    """A page with its place in the manual. `sections`: of the directories that links lead to; "" is its own."""

    name: str
    section: int
    purpose: str
    body: SyntaxTreeNode
    sections: dict[str, int]

    @staticmethod
    def read(text: str, section: int, sections: dict[str, int]) -> ManualPage:
        """A page of Markdown with a title `name: purpose`. Raises ValueError for any other title."""
        body = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
        title = _TITLE.fullmatch(body.children[0].children[0].content) if body.children else None
        if not title or body.children[0].tag != "h1":
            raise ValueError("a page of the manual begins with `# name: purpose`")
        return ManualPage(title["name"], section, title["purpose"], body, {"": section, **sections})

    def roff(self, version: str, date: str) -> str:
        """The page in the macros of man(7). date: YYYY-MM-DD."""
        lines = [f'.TH {_escaped(self.name.upper())} {self.section} {date} "Grid Engine {version}" "Grid Engine manual"']
        lines += [".SH NAME", f"{_escaped(self.name)} \\- {_escaped(self.purpose)}"]
        blocks = [block for block in self.body.children[1:] if block.type != "html_block"]
        if blocks and blocks[0].type == "code_block":
            lines += [".SH SYNOPSIS", *_literal(blocks.pop(0).content)]
        if blocks and blocks[0].type != "heading":
            lines.append(".SH DESCRIPTION")
        for block in blocks:
            lines += self._block(block)
        return "\n".join(_without_empty_paragraphs(lines)) + "\n"

    def _block(self, block: SyntaxTreeNode) -> Iterator[str]:
        if block.type == "heading":
            title = self._inline(block.children[0], plain=True)
            yield f".SH {_upper(title)}" if block.tag == "h2" else f".SS {title}"
        elif block.type == "paragraph":
            yield ".PP"
            yield from _folded(self._inline(block.children[0]))
        elif block.type in ("code_block", "fence"):
            yield ".PP"
            yield from _literal(block.content)
        elif block.type == "bullet_list":
            for item in block.children:
                yield ".IP \\(bu 2"
                yield from _folded(self._inline(item.children[0].children[0]))
        elif block.type == "table":
            yield from self._table(block)
        else:
            raise ValueError(f"a page of the manual cannot have a {block.type}")

    def _table(self, table: SyntaxTreeNode) -> Iterator[str]:
        head, *body = table.children
        names = [self._inline(cell.children[0], plain=True) for cell in head.children[0].children]
        for row in body[0].children if body else ():
            first, *between, last = [self._inline(cell.children[0]) if cell.children else "" for cell in row.children]
            notes = ", ".join(f"{name} {text}" for name, text in zip(names[1:], between, strict=False) if text)
            yield ".TP"
            yield f"{first} ({notes})" if notes else first
            yield from _folded(last)

    def _inline(self, node: SyntaxTreeNode, plain: bool = False) -> str:
        """The text of an inline piece, on one line. `plain`: without fonts, as headings have them."""
        found = []
        for piece in node.children:
            if piece.type == "code_inline":
                found.append(_escaped(piece.content) if plain else rf"\fB{_escaped(piece.content)}\fR")
            elif piece.type in ("strong", "em"):
                font = "B" if piece.type == "strong" else "I"
                found.append(rf"\f{font}{self._inline(piece, plain=True)}\fR")
            elif piece.type == "link":
                found.append(self._link(piece))
            elif piece.type in ("softbreak", "hardbreak"):
                found.append(" ")
            else:
                found.append(_escaped(piece.content))
        return "".join(found)

    def _link(self, link: SyntaxTreeNode) -> str:
        """A page of the manual as `name(section)`, every other link as its text."""
        page = _PAGE_LINK.match(str(link.attrs["href"]))
        section = self.sections.get(page["directory"] or "") if page else None
        return rf"\fB{_escaped(page['page'])}\fR({section})" if page and section else self._inline(link)


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(each, each if each.isascii() else f"\\[u{ord(each):04X}]") for each in text)


def _upper(escaped: str) -> str:
    """In capitals, but for the names of special letters."""
    return re.sub(r"(\\\(..|\\\[\w+\]|\\.)|(.)", lambda found: found[1] or found[2].upper(), escaped)


def _guarded(line: str) -> str:
    """A line of text, which roff must not take for a request."""
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _folded(text: str) -> list[str]:
    return [_guarded(line) for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)] or [r"\&"]


def _literal(text: str) -> list[str]:
    return [".RS 4", ".EX", *(_guarded(_escaped(line)) for line in text.rstrip("\n").split("\n")), ".EE", ".RE"]


def _without_empty_paragraphs(lines: list[str]) -> Iterator[str]:
    """A paragraph begins by itself behind a heading."""
    for before, line in zip(["", *lines], lines, strict=False):
        if not (line == ".PP" and before.startswith((".SH", ".SS"))):
            yield line
