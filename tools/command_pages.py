"""Writes `docs/commands/`: a page for each command, from the option table that the commands themselves read.

Owns the form of the pages, but not their texts by authors: in an existing page the texts behind the marks are kept.
Called by `make pages`; a test checks that the pages agree with the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gridengine.options.commands import COMMANDS, Command
from gridengine.options.help_text import EXAMPLES, groups
from gridengine.options.option import Option
from tools.program_page import sections

PAGES = Path(__file__).resolve().parent.parent / "docs" / "commands"
#: what follows in a page is written by people, up to the next mark
_BY_HAND = "<!-- by hand -->"
_MADE = "<!-- made by `make pages` from the option table in `gridengine/options/`; change that, not this -->"
_NOTE = "Made by `make pages` from the option table in `gridengine/options/`; change that, not this page."
#: pages of this directory that are not of the option table
_OTHERS = ("sge_intro.md",)
_SUBMITTING = """
Options come from, each counting more than the one before: `$SGE_ROOT/$SGE_CELL/common/sge_request`, `~/.sge_request`,
`./.sge_request`, lines of the script that begin with `#$` (or with what `-C` says), and the command line. `-clear` drops all
that came before it. A fault says which file and line it comes from.
"""
_GRAMMAR = {
    "job_task_list": "jobs between commas or blanks: `ID`, `ID.TASKS`, a name, a pattern, with `-t TASKS` behind a job",
    "task_id_range": "`n`, `n-m` or `n-m:s`",
    "date_time": "`[[CC]YY]MMDDhhmm[.SS]`",
    "path_list": "`[[host]:]path` between commas",
    "resource_list": "`resource=value` between commas",
    "wc_queue_list": "`queue`, `queue@host`, `queue@@hostgroup` or patterns of these, between commas",
    "context_list": "`variable[=value]` between commas",
    "variable_list": "`variable[=value]` between commas",
    "slot_range": "`n`, `n-m`, `-m`, `n-`, or several between commas",
    "ckpt_selector": "letters of `nsmxr`, or an interval `h:m:s`",
    "mail_options": "letters of `abes`, or `n`",
    "strategy": "`linear[:n[:s,c]]`, `striding:n:step[:s,c]` or `explicit:s,c:…`",
    "jsv_url": "`[script:]path`",
    "job_list": "jobs between commas: ids, names, patterns",
    "job_id_list": "ids of jobs between commas or blanks",
    "ar_list": "reservations between commas or blanks: ids, names, patterns",
    "user_list": "users between commas, `@group` for a group or access list, `*` for all",
    "hold_list": "letters of `uos`: holds of user, operator, system",
    "time": "seconds, `m:s` or `h:m:s`",
}


def page(command: Command, before: str = "") -> str:
    """The page of a command in Markdown. `before`: the page as it was, from which the texts of people are taken."""
    description, behind = _by_hand(before)
    call = " ".join([command.name, "[options]", command.operands]).rstrip()
    lines = [f"# {command.name}: {command.purpose}", "", f"    {call}", ""]
    lines += [_BY_HAND, "", *([description, ""] if description else []), _MADE, ""]
    if command.name in ("qsub", "qrsh", "qlogin", "qsh"):
        lines += ["## Where options come from", "", _SUBMITTING.strip(), ""]
    for title, options in groups(command):
        lines += [f"## {title}", "", "| option | what it does |", "|---|---|", *map(_row, options), ""]
    lines += ["## Examples", "", *(f"    {call:<52}  # {meaning}" for call, meaning in EXAMPLES[command.name]), ""]
    placeholders = {each.strip("[].") for option in command.options for each in option.arguments}
    used = placeholders | set(command.operands.split())
    grammar = [f"- `{placeholder}`: {meaning}" for placeholder, meaning in _GRAMMAR.items() if placeholder in used]
    if grammar:
        lines += ["## Arguments", "", *grammar, ""]
    return "\n".join([*lines, _BY_HAND, *(["", behind] if behind else [])]) + "\n"


def _by_hand(page: str) -> tuple[str, str]:
    """The texts by authors in a page, before and after the generated part."""
    parts = page.split(_BY_HAND)
    if len(parts) != 3:
        return "", ""
    return parts[1].partition(_MADE)[0].strip(), parts[2].strip()


def _row(option: Option) -> str:
    signature = " ".join([", ".join(option.names), *option.arguments]).replace("|", "\\|")
    return f"| `{signature}` | {option.help} |"


def pages() -> dict[str, str]:
    """All pages of the table by file name, with the texts by authors of existing pages."""
    others = ((PAGES / name).read_text().partition("\n")[0][2:].partition(": ") for name in _OTHERS)
    index = {name: purpose for name, _, purpose in others} | {command.name: command.purpose for command in COMMANDS}
    index["gridengine"] = "make, start, check and tend a cell"
    lines = ["# Commands", "", _NOTE, "", *(f"- [{name}]({name}.md): {purpose}" for name, purpose in index.items())]
    made = {f"{command.name}.md": page(command, _there(f"{command.name}.md")) for command in COMMANDS}
    made |= {name: _there(name) for name in _OTHERS}
    made["gridengine.md"] = _program_page(_there("gridengine.md"))
    return {"README.md": "\n".join(lines) + "\n", **made}


def _program_page(before: str) -> str:
    """The page of `gridengine`, with a section for each sub-command."""
    description, behind = _by_hand(before)
    lines = ["# gridengine: make, start, check and tend a cell", "", "    gridengine COMMAND [options]", "", _BY_HAND, ""]
    lines += [description, "", _MADE, "", *sections(), _BY_HAND, "", behind]
    return "\n".join(lines).rstrip() + "\n"


def _there(name: str) -> str:
    return (PAGES / name).read_text() if (PAGES / name).exists() else ""


def main() -> None:
    PAGES.mkdir(exist_ok=True)
    expected = pages()
    for path in PAGES.glob("*.md"):
        if path.name not in expected:
            path.unlink()
    for name, text in expected.items():
        (PAGES / name).write_text(text)
    print(f"{len(expected)} pages in {PAGES}", file=sys.stderr)


if __name__ == "__main__":
    main()
