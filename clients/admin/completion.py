"""Completion of the q* commands and of `gridengine` for bash and zsh, generated from their option tables.

Owns the scripts and the completion of each kind of argument; `fish_completion` owns the script for fish. Must not contact a cell:
the scripts do, on request of the user. Called by `gridengine completion`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clients.admin.command_tree import SubCommand
from gridengine.options.commands import COMMANDS, Command
from gridengine.options.option import Option

#: the shell command that lists the names of a kind; the shell completes `file` and `directory` itself, `=…` is a fixed list.
#: `_ge_queues` also lists instances and `queue@@group`, if the typed text contains an @
LISTS = {
    "queue": "_ge_queues",
    "hostgroup": "qconf -shgrpl",
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
    # placeholders of gridengine
    "FILE": "file",
    "OUTPUT": "file",
    "OLD": "file",
    "NEW": "file",
    "DIRECTORY": "directory",
    "ROOT": "directory",
    "INTO": "directory",
    "HOST": "host",
    "@GROUP": "hostgroup",
    "GROUP": "hostgroup",
    "QUEUE": "queue",
    # arguments of the q* commands
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
    "host_group": "hostgroup",
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
    """The kind of an argument: a key of `LISTS`, `file`, `directory`, `=a b c` for fixed words, or "" for nothing."""
    optional = argument.startswith("[")
    placeholder = argument.replace("...", "")
    placeholder = placeholder[1:-1] if optional else placeholder
    first = placeholder.split("|")[0]
    if first in _KIND_OF:
        return _KIND_OF[first]
    if "|" in placeholder:
        return "=" + " ".join(re.sub(r"\[.*?\]", "", choice) for choice in placeholder.split("|"))
    return ""


def next_tokens(commands: Sequence[SubCommand]) -> dict[str, dict[str, str]]:
    """The tokens that may follow each path of `gridengine`, such as `gridengine host`: token -> help text. Options follow the
    complete path.
    """
    found: dict[str, dict[str, str]] = {}
    for command in commands:
        tokens = command.name.split()
        for depth in range(1, len(tokens)):
            text = command.purpose if depth == len(tokens) - 1 else f"{tokens[depth]} ..."
            found.setdefault(" ".join(tokens[:depth]), {})[tokens[depth]] = text
        found[command.name] = {name: option.help for option in command.options for name in option.names}
    return found


def operand_kinds(commands: Sequence[SubCommand]) -> dict[str, str]:
    """The kinds of the operands of each sub-command of `gridengine`, and, as `path --option`, of the values of its options."""
    # NAME of gridengine is a host, except for stored queries
    operands = ((command.name, command.operands[0].placeholder) for command in commands if command.operands)
    kinds = {
        name: "host" if placeholder == "NAME" and " arco " not in name else kind_of(placeholder)
        for name, placeholder in operands
    }
    for command in commands:
        with_values = [each for each in command.options if each.placeholder]
        kinds |= {f"{command.name} {name}": kind_of(each.placeholder) for each in with_values for name in each.names}
    return {path: kind for path, kind in kinds.items() if kind}


def bash_completion(commands: Sequence[SubCommand]) -> str:
    """A script for bash: `source <(gridengine completion bash)`. `commands`: the sub-commands of `gridengine`."""
    lines = ["# completion of the Grid Engine commands for bash, made by: gridengine completion bash"]
    lines.append("declare -gA _ge_options _ge_arguments _ge_tree _ge_kinds")
    lines += [f"_ge_tree[{path}]={_quoted(' '.join(tokens))}" for path, tokens in next_tokens(commands).items()]
    lines += [f"_ge_kinds[{path}]={_quoted(kind)}" for path, kind in operand_kinds(commands).items()]
    for command in COMMANDS:
        tokens = " ".join(name for option in command.options for name in option.names)
        lines.append(f"_ge_options[{command.name}]={_quoted(tokens)}")
        for name, kinds in _arguments(command):
            lines.append(f"_ge_arguments[{command.name} {name}]={_quoted('|'.join(kinds))}")
    lists = "".join(f"    {kind}) words=$({how} 2>/dev/null) ;;\n" for kind, how in LISTS.items())
    names = " ".join(command.name for command in COMMANDS)
    return "\n".join(lines) + "\n" + _BASH.replace("@LISTS@", lists).replace("@NAMES@", names)


def _arguments(command: Command) -> Iterator[tuple[str, list[str]]]:
    """(name of an option, kinds of its arguments, the last kind with `...` if it may repeat); "operands" for the operands."""
    for option in command.options:
        for name in option.names if option.arguments else ():
            yield name, [f"{kind_of(each) or 'nothing'}{'...' if '...' in each else ''}" for each in option.arguments]
    if command.operands:
        yield "operands", [f"{kind_of(command.operands.split()[0])}..."]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


#: for bash and zsh
_QUEUES = r"""
# cluster queues; also instances if the typed text contains an @
_ge_queues() {
  qconf -sql
  case $_ge_typed in *@*) ;; *) return ;; esac
  qselect
  qconf -sql | while read -r queue; do qconf -shgrpl | sed "s/^/$queue@/"; done
}
"""

_BASH = (
    _QUEUES
    + r"""
# a word with an @ in it is one word
COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}

# complete one argument of a kind; lists continue after a comma
_ge_complete() {
  local kind=${1%...} cur=$2 words before= _ge_typed=$2
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

# gridengine: the known path of sub-commands, then the words that may follow
_ge_program() {
  local cur=$2 path=gridengine word
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do [[ -z ${_ge_tree[$path $word]+known} ]] || path+=" $word"; done
  local value=${_ge_kinds[$path ${COMP_WORDS[COMP_CWORD-1]}]-}
  if [[ -n $value ]]; then _ge_complete "$value" "$cur"; return; fi
  if [[ $cur != -* && -n ${_ge_kinds[$path]-} ]]; then _ge_complete "${_ge_kinds[$path]}" "$cur"; return; fi
  mapfile -t COMPREPLY < <(compgen -W "${_ge_tree[$path]}" -- "$cur")
}

complete -F _ge_command @NAMES@
complete -F _ge_program gridengine
"""
)


def zsh_completion(commands: Sequence[SubCommand]) -> str:
    """A script for zsh: `source <(gridengine completion zsh)`, or a file `_gridengine` in a directory of fpath.

    `commands`: the sub-commands of `gridengine`.
    """
    names = " ".join([*(command.name for command in COMMANDS), "gridengine"])
    tree = "".join(f"_ge_tree+=({_quoted(path)} {_quoted(' '.join(tokens))})\n" for path, tokens in next_tokens(commands).items())
    tree += "".join(f"_ge_kinds+=({_quoted(path)} {_quoted(kind)})\n" for path, kind in operand_kinds(commands).items())
    lists = "".join(f"    {kind}) words=(${{(f)\"$({_zsh_command(how)} 2>/dev/null)\"}}) ;;\n" for kind, how in LISTS.items())
    cases = "".join(f"    {command.name})\n      _arguments -S{_specs(command)} ;;\n" for command in COMMANDS)
    script = _ZSH.replace("@LISTS@", lists).replace("@CASES@", cases).replace("@NAMES@", names)
    return f"#compdef {names}\n" + script.replace("@TREE@", tree)


def _zsh_command(how: str) -> str:
    return "print -l ${(k)userdirs}" if how == "compgen -u" else how


def _specs(command: Command) -> str:
    specs = [_spec(option, name) for option in command.options for name in option.names]
    if command.operands:
        specs.append(f"*:operand:{_action(command.operands.split()[0])}")
    return "".join(f" \\\n        {_quoted(spec)}" for spec in specs)


def _spec(option: Option, name: str) -> str:
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    parts = [f"*{name}[{text}]"]
    for placeholder in option.arguments:
        label = re.sub(r"[^a-z_ ]", "", placeholder.lower()) or "value"
        parts.append(f"{'::' if placeholder.startswith('[') else ':'}{label}:{_action(placeholder)}")
    return "".join(parts)


def _action(argument: str) -> str:
    kind = kind_of(argument)
    if kind.startswith("="):
        return f"({kind[1:]})"
    return {"": " ", "file": "_files", "directory": "_files -/"}.get(kind, f"_ge_words {kind}")


_ZSH = (
    r"""# completion of the Grid Engine commands for zsh, made by: gridengine completion zsh
typeset -gA _ge_tree _ge_kinds
@TREE@"""
    + _QUEUES
    + r"""
# names of a kind; lists continue after a comma
_ge_words() {
  local -a words
  local _ge_typed=$PREFIX
  case $1 in
@LISTS@  esac
  compset -P '*,'
  if [[ $1 == resource ]]; then compadd -S '' -a words; else compadd -a words; fi
}

# gridengine: the known path of sub-commands, then the words that may follow
_ge_program() {
  local at=gridengine word kind
  for word in ${words[2,CURRENT-1]}; do (( ! ${+_ge_tree[$at $word]} )) || at+=" $word"; done
  kind=${_ge_kinds[$at ${words[CURRENT-1]}]-}
  [[ -n $kind || $PREFIX == -* ]] || kind=${_ge_kinds[$at]-}
  case $kind in
    '') compadd -- ${=_ge_tree[$at]} ;;
    file) _files ;;
    directory) _files -/ ;;
    '='*) compadd -- ${=kind#=} ;;
    *) _ge_words $kind ;;
  esac
}

_ge_command() {
  case $service in
    gridengine) _ge_program ;;
@CASES@  esac
}

if [[ $funcstack[1] == _gridengine ]]; then _ge_command "$@"; else compdef _ge_command @NAMES@; fi
"""
)
