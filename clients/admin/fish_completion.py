"""Completion of the q* commands and of `gridengine` for fish.

Owns the script; `completion` owns the kinds of arguments. Called by `gridengine completion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clients.admin.command_tree import SubCommand
from clients.admin.completion import LISTS, kind_of, next_tokens, operand_kinds
from gridengine.options.commands import COMMANDS, Command
from gridengine.options.option import Option

_HEAD = r"""# completion of the Grid Engine commands for fish, made by: gridengine completion fish

# cluster queues; also instances if the typed text contains an @
function _ge_queues
  qconf -sql
  string match -q '*@*' -- (commandline -ct); or return
  qselect
  for queue in (qconf -sql)
    qconf -shgrpl | sed "s/^/$queue@/"
  end
end

# names of a kind; lists continue after a comma
function _ge_words
  set -l before (string replace -r '[^,]*$' '' -- (commandline -ct))
  switch $argv[1]
@LISTS@  end 2>/dev/null | while read -l word
    echo $before$word
  end
end

# whether the typed words are exactly this path of gridengine
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
    """A script for fish: `gridengine completion fish | source`. `commands`: the sub-commands of `gridengine`."""
    cases = "".join(f"    case {kind}\n      {_fish_command(how)}\n" for kind, how in LISTS.items())
    lines = [_HEAD.replace("@LISTS@", cases)]
    for command in COMMANDS:
        lines += _command_lines(command)
    return "\n".join([*lines, *_program_lines(commands)]) + "\n"


def _fish_command(how: str) -> str:
    return "__fish_complete_users" if how == "compgen -u" else how


def _command_lines(command: Command) -> Iterator[str]:
    operands = kind_of(command.operands.split()[0]) if command.operands else ""
    yield f"complete -c {command.name} {_value_completion(operands)}"
    for option in command.options:
        for name in option.names:
            yield f"complete -c {command.name} {_option_name(name)} -d {_quoted(option.help)}{_argument(option)}"


def _option_name(name: str) -> str:
    # also options of one character are old-style options (-o): as short options (-s) fish would read -hold as -h -o ld
    return f"-l {name[2:]}" if name.startswith("--") else f"-o {_quoted(name[1:])}"


def _argument(option: Option) -> str:
    """The completion of the first argument; fish completes no further arguments of an option."""
    first = option.arguments[0] if option.arguments else ""
    return f" -r {_value_completion(kind_of(first))}" if first and not first.startswith("[") else ""


def _value_completion(kind: str) -> str:
    if kind == "file":
        return "-F"
    if kind == "directory":
        return "-f -a '(__fish_complete_directories)'"
    if not kind:
        return "-f"
    return f"-f -a {_quoted(kind[1:] if kind.startswith('=') else f'(_ge_words {kind})')}"


def _program_lines(commands: Sequence[SubCommand]) -> Iterator[str]:
    tree, kinds = next_tokens(commands), operand_kinds(commands)
    yield f"set -g _ge_paths {' '.join(map(_quoted, tree))}"
    yield "complete -c gridengine -f"
    for path, tokens in tree.items():
        where = f"complete -c gridengine -n {_quoted(f'_ge_at {path}')}"
        if kind := kinds.get(path):
            yield f"{where} {_value_completion(kind)}"
        for token, text in tokens.items():
            if not token.startswith("-"):
                yield f"{where} -f -a {token} -d {_quoted(text)}"
                continue
            value = kinds.get(f"{path} {token}")
            yield f"{where} {_option_name(token)} -d {_quoted(text)}{f' -r {_value_completion(value)}' if value else ''}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
