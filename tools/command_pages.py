"""Writes `docs/commands/`: a page for each command, from the option table that the commands themselves read.

Owns the form of the pages. Called by `make pages`; a test checks that the pages are those of the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gridengine.options.commands import COMMANDS, Command
from gridengine.options.help_text import EXAMPLES, groups
from gridengine.options.option import Option

PAGES = Path(__file__).resolve().parent.parent / "docs" / "commands"
_NOTE = "Made by `make pages` from the option table in `gridengine/options/`; change that, not this page."
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
}


def page(command: Command) -> str:
    """The page of a command in Markdown."""
    lines = [f"# {command.name}: {command.purpose}", "", _NOTE, ""]
    lines += [f"    {' '.join([command.name, '[options]', command.operands]).rstrip()}", ""]
    if command.name in ("qsub", "qrsh", "qlogin", "qsh"):
        lines += [_SUBMITTING.strip(), ""]
    for title, options in groups(command):
        lines += [f"## {title}", "", "| option | what it does |", "|---|---|", *map(_row, options), ""]
    lines += ["## Examples", "", *(f"    {call:<52}  # {meaning}" for call, meaning in EXAMPLES[command.name])]
    used = {word.strip("[].") for option in command.options for word in option.arguments} | set(command.operands.split())
    grammar = [f"- `{word}`: {meaning}" for word, meaning in _GRAMMAR.items() if word in used]
    if grammar:
        lines += ["", "## Arguments", "", *grammar]
    return "\n".join(lines) + "\n"


def _row(option: Option) -> str:
    words = " ".join([", ".join(option.names), *option.arguments]).replace("|", "\\|")
    return f"| `{words}` | {option.help} |"


def pages() -> dict[str, str]:
    """All pages by file name."""
    index = ["# Commands", "", _NOTE, "", *(f"- [{command.name}]({command.name}.md): {command.purpose}" for command in COMMANDS)]
    return {"README.md": "\n".join(index) + "\n", **{f"{command.name}.md": page(command) for command in COMMANDS}}


def main() -> None:
    PAGES.mkdir(exist_ok=True)
    wanted = pages()
    for path in PAGES.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text)
    print(f"{len(wanted)} pages in {PAGES}", file=sys.stderr)


if __name__ == "__main__":
    main()
