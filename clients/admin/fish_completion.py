"""Completion of the q* commands and of `gridengine` for fish.

Owns the script; what completes an argument of a kind is `completion`'s. Called by `gridengine completion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clients.admin.command_tree import SubCommand
from clients.admin.completion import LISTS, kind_of, operand_kinds, tree_words
from gridengine.options.commands import COMMANDS, Command
from gridengine.options.option import Option

_HEAD = r"""# completion of the Grid Engine commands for fish, made by: gridengine completion fish

# cluster queues, and what is written with an @ as soon as there is one
function _ge_queues
  qconf -sql
  string match -q '*@*' -- (commandline -ct); or return
  qselect
  for queue in (qconf -sql)
    qconf -shgrpl | sed "s/^/$queue@/"
  end
end

# words of a kind; lists go on behind a comma
function _ge_words
  set -l before (string replace -r '[^,]*$' '' -- (commandline -ct))
  switch $argv[1]
@LISTS@  end 2>/dev/null | while read -l word
    echo $before$word
  end
end

# whether the words so far are a path of gridengine, and no longer one
function _ge_at
  set -l path
  for word in (commandline -opc)
    if contains -- "$path $word" $_ge_paths; or test -z "$path"
      set path (string trim -- "$path $word")
    end
  end
  test "$path" = "$argv"
end
"""


def fish_completion(commands: Sequence[SubCommand]) -> str:
    """A script for fish: `gridengine completion fish | source`. `commands`: those of `gridengine`."""
    cases = "".join(f"    case {kind}\n      {_in_fish(how)}\n" for kind, how in LISTS.items())
    lines = [_HEAD.replace("@LISTS@", cases)]
    for command in COMMANDS:
        lines += _of_command(command)
    return "\n".join([*lines, *_of_program(commands)]) + "\n"


def _in_fish(how: str) -> str:
    return "__fish_complete_users" if how == "compgen -u" else how


def _of_command(command: Command) -> Iterator[str]:
    operands = kind_of(command.operands.split()[0]) if command.operands else ""
    yield f"complete -c {command.name} {_taking(operands)}"
    for option in command.options:
        for name in option.names:
            yield f"complete -c {command.name} {_named(name)} -d {_quoted(option.help)}{_argument(option)}"


def _named(name: str) -> str:
    # also words of one letter are whole options: as short ones (-s) fish would take -hold for -h, and -o with the value ld
    return f"-l {name[2:]}" if name.startswith("--") else f"-o {_quoted(name[1:])}"


def _argument(option: Option) -> str:
    """What completes the first argument; fish knows no others."""
    first = option.arguments[0] if option.arguments else ""
    return f" -r {_taking(kind_of(first))}" if first and not first.startswith("[") else ""


def _taking(kind: str) -> str:
    if kind == "file":
        return "-F"
    if kind == "directory":
        return "-f -a '(__fish_complete_directories)'"
    if not kind:
        return "-f"
    return f"-f -a {_quoted(kind[1:] if kind.startswith('=') else f'(_ge_words {kind})')}"


def _of_program(commands: Sequence[SubCommand]) -> Iterator[str]:
    tree, kinds = tree_words(commands), operand_kinds(commands)
    yield f"set -g _ge_paths {' '.join(map(_quoted, tree))}"
    yield "complete -c gridengine -f"
    for path, words in tree.items():
        where = f"complete -c gridengine -n {_quoted(f'_ge_at {path}')}"
        if kind := kinds.get(path):
            yield f"{where} {_taking(kind)}"
        for word, text in words.items():
            if not word.startswith("-"):
                yield f"{where} -f -a {word} -d {_quoted(text)}"
                continue
            value = kinds.get(f"{path} {word}")
            yield f"{where} {_named(word)} -d {_quoted(text)}{f' -r {_taking(value)}' if value else ''}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
