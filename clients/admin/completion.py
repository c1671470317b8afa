"""Completion of the q* commands for bash and zsh, made from the option table.

Owns the scripts and what completes an argument of each kind. Must not talk to a cell: the scripts do, when the user asks.
Called by `gridengine completion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridengine.options.commands import COMMANDS, Command
from gridengine.options.option import Option

#: how a shell finds the words of a kind: `file` and `directory` are its own business, `=…` are the words themselves
_LISTS = {
    "queue": "qconf -sql",
    "pe": "qconf -spl",
    "ckpt": "qconf -sckptl",
    "calendar": "qconf -scall",
    "project": "qconf -sprjl",
    "host": "qconf -sel",
    "userset": "qconf -sul",
    "quota": "qconf -srqsl",
    "user": "compgen -u",
    "job": "qstat | awk 'NR > 2 { print $1 }' | sort -un",
    "reservation": "qrstat | awk 'NR > 2 { print $1 }'",
    "resource": "qconf -sc | awk '!/^#/ { print $1 \"=\" }'",
}
_KIND_OF = {
    "file": "file",
    "file_list": "file",
    "optionfile": "file",
    "path_list": "file",
    "jsv_url": "file",
    "working_dir": "directory",
    "script": "file",
    "ckpt_name": "ckpt",
    "ckpt_list": "ckpt",
    "calendar_name": "calendar",
    "calendar_list": "calendar",
    "pe_name": "pe",
    "pe_list": "pe",
    "wc_pe_list": "pe",
    "project": "project",
    "project_name": "project",
    "project_list": "project",
    "wc_project_list": "project",
    "host": "host",
    "host_list": "host",
    "wc_host_list": "host",
    "listname": "userset",
    "listname_list": "userset",
    "rqs_list": "quota",
    "owner": "user",
    "user": "user",
    "user_list": "user",
    "job": "job",
    "job_list": "job",
    "job_task_list": "job",
    "job_id_list": "job",
    "job_wc_queue_list": "job",
    "ar_id": "reservation",
    "ar_list": "reservation",
    "resource_list": "resource",
    "resource_attributes": "resource",
    "queue": "queue",
    "queue_name": "queue",
    "queue_list": "queue",
    "wc_queue": "queue",
    "wc_queue_list": "queue",
    "wc_cqueue_list": "queue",
}


def kind_of(argument: str) -> str:
    """What completes an argument: a key of `_LISTS`, `file`, `directory`, `=a b c` for fixed words, or "" for nothing."""
    optional = argument.startswith("[")
    word = argument.replace("...", "")
    word = word[1:-1] if optional else word
    first = word.split("|")[0]
    if first in _KIND_OF:
        return _KIND_OF[first]
    if "|" in word:
        return "=" + " ".join(re.sub(r"\[.*?\]", "", choice) for choice in word.split("|"))
    return ""


def bash_completion() -> str:
    """A script for bash: `source <(gridengine completion bash)`."""
    lines = ["# completion of the Grid Engine commands for bash, made by: gridengine completion bash"]
    lines.append("declare -gA _ge_options _ge_arguments")
    for command in COMMANDS:
        words = " ".join(name for option in command.options for name in option.names)
        lines.append(f"_ge_options[{command.name}]={_quoted(words)}")
        for name, kinds in _arguments(command):
            lines.append(f"_ge_arguments[{command.name} {name}]={_quoted('|'.join(kinds))}")
    lists = "".join(f"    {kind}) words=$({how} 2>/dev/null) ;;\n" for kind, how in _LISTS.items())
    names = " ".join(command.name for command in COMMANDS)
    return "\n".join(lines) + "\n" + _BASH.replace("@LISTS@", lists).replace("@NAMES@", names)


def _arguments(command: Command) -> Iterator[tuple[str, list[str]]]:
    """(name of an option, kinds of its arguments, the last one with `...` if there may be more); "" are the operands."""
    for option in command.options:
        for name in option.names if option.arguments else ():
            yield name, [f"{kind_of(word) or 'nothing'}{'...' if '...' in word else ''}" for word in option.arguments]
    if command.operands:
        yield "operands", [f"{kind_of(command.operands.split()[0])}..."]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_BASH = r"""
# complete one argument of a kind; lists go on behind a comma
_ge_complete() {
  local kind=${1%...} cur=$2 words before=
  case $kind in
    '' | nothing) return ;;
    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    directory) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    =*) words=${kind#=} ;;
@LISTS@  esac
  case $cur in *,*) before=${cur%,*}, cur=${cur##*,} ;; esac
  case $words in *=*) compopt -o nospace ;; esac
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "$cur")
}

_ge_command() {
  local command=${1##*/} cur=$2 position=$((COMP_CWORD - 1)) kinds count
  COMPREPLY=()
  # the option that the word may belong to
  while ((position > 0)) && [[ ${COMP_WORDS[position]} != -?* ]]; do ((position--)); done
  kinds=${_ge_arguments[$command ${COMP_WORDS[position]}]-}
  if ((position > 0)) && [[ -n $kinds && ( $cur != -* || -z $cur ) ]]; then
    local -a each; IFS='|' read -ra each <<<"$kinds"
    count=$((COMP_CWORD - position))
    if ((count > ${#each[@]})) && [[ ${each[-1]} == *... ]]; then count=${#each[@]}; fi
    if ((count <= ${#each[@]})); then _ge_complete "${each[count - 1]}" "$cur"; return; fi
  fi
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${_ge_options[$command]}" -- "$cur")
  else
    _ge_complete "${_ge_arguments[$command operands]-}" "$cur"
  fi
}

complete -F _ge_command @NAMES@
"""


def zsh_completion() -> str:
    """A script for zsh: `source <(gridengine completion zsh)`, or a file `_gridengine` in a directory of fpath."""
    names = " ".join(command.name for command in COMMANDS)
    lists = "".join(f"    {kind}) words=(${{(f)\"$({_in_zsh(how)} 2>/dev/null)\"}}) ;;\n" for kind, how in _LISTS.items())
    cases = "".join(f"    {command.name})\n      _arguments -S{_specs(command)} ;;\n" for command in COMMANDS)
    return f"#compdef {names}\n" + _ZSH.replace("@LISTS@", lists).replace("@CASES@", cases).replace("@NAMES@", names)


def _in_zsh(how: str) -> str:
    return "print -l ${(k)userdirs}" if how == "compgen -u" else how


def _specs(command: Command) -> str:
    specs = [_spec(option, name) for option in command.options for name in option.names]
    if command.operands:
        specs.append(f"*:operand:{_action(command.operands.split()[0])}")
    return "".join(f" \\\n        {_quoted(spec)}" for spec in specs)


def _spec(option: Option, name: str) -> str:
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    parts = [f"*{name}[{text}]"]
    for word in option.arguments:
        label = re.sub(r"[^a-z_ ]", "", word.lower()) or "value"
        parts.append(f"{'::' if word.startswith('[') else ':'}{label}:{_action(word)}")
    return "".join(parts)


def _action(argument: str) -> str:
    kind = kind_of(argument)
    if kind.startswith("="):
        return f"({kind[1:]})"
    return {"": " ", "file": "_files", "directory": "_files -/"}.get(kind, f"_ge_words {kind}")


_ZSH = r"""# completion of the Grid Engine commands for zsh, made by: gridengine completion zsh

# words of a kind; lists go on behind a comma
_ge_words() {
  local -a words
  case $1 in
@LISTS@  esac
  compset -P '*,'
  if [[ $1 == resource ]]; then compadd -S '' -a words; else compadd -a words; fi
}

_ge_command() {
  case $service in
@CASES@  esac
}

if [[ $funcstack[1] == _gridengine ]]; then _ge_command "$@"; else compdef _ge_command @NAMES@; fi
"""
