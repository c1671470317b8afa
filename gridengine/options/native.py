"""The options of a program that submits by a library: texts in, fields of `Submit` out, by the table and folds of qsub.

Owns the order of the texts, and the list of options that a library cannot support and that are ignored. Pure: the library reads
the files, with the rights of its process; the response names a missing file, and the library repeats the request with its text.
Called by the request `fold_options`. Source: drmaa_attributes(3), attribute priorities; qtask(5); DM-2; adr/0161.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gridengine.errors import UserError
from gridengine.files.path_aliases import parse_aliases, select_aliases
from gridengine.options.option import OptionError, Setting, options_of, split_line, split_words
from gridengine.options.script_options import PREFIX, script_settings
from gridengine.options.sources import Source, file_settings, fold_sources, line_settings, with_option_files
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission

_QSUB = options_of("qsub", SUBMIT_OPTIONS)
_OTHERS = {name: option for option in SUBMIT_OPTIONS for name in option.names}
DEFAULTS = "-p 0 -b y -shell n -w e"
"""Options of lowest priority."""
_IGNORED = frozenset(("-help", "-sync", "-t", "-verify"))
"""Options for the library itself, or for people."""
_IGNORED_CHECKS = ("w", "v", "p")
"""Values of -w whose only result is a text."""


class _MissingValueError(UserError):
    """An option file that the request does not contain."""


class NativeOptions(NamedTuple):
    """The sum of all texts. `request`: fields of `Submit`. `verifiers`: of -jsv, which the caller must run.

    If a text is missing, only its name counts: `option_file`, the path of a file that -@ names, or `script_prefix`, the prefix
    of option lines in the script.
    """

    request: dict[str, Any]
    verifiers: tuple[str, ...] = ()
    option_file: str = ""
    script_prefix: str = ""


def fold_native(body: Mapping[str, Any], now: float) -> NativeOptions:
    """Fold the texts of a request `fold_options` (docs/gdi.md has its fields). Raises OptionError, InvalidValueError."""
    try:
        return _fold_texts(body, now)
    except _MissingValueError as missing:
        return NativeOptions({}, option_file=str(missing))


def _fold_texts(body: Mapping[str, Any], now: float) -> NativeOptions:
    files = body.get("option_files", {})

    def read(path: str) -> str:
        if path not in files:
            raise _MissingValueError(path)
        text: str = files[path]
        return text

    def expanded(source: Source) -> Source:
        lines = (with_option_files(line, _QSUB, read) for line in source)
        return [[setting for setting in line if not _is_ignored(setting)] for line in lines]

    weak = [[line_settings(split_words(DEFAULTS), "", _QSUB)]]
    weak += [expanded(file_settings(text, path, _QSUB)) for path, text in body.get("request_files", ())]
    strong: list[Source] = []
    if "category" in body:
        strong.append(expanded([_category(body["category"], body.get("category_files", ()))]))
    strong.append(expanded([line_settings(split_words(body.get("native", ""), closed=False), "", _QSUB)]))
    script: list[Source] = []
    prefix = _script_prefix([*weak, *strong])
    if prefix:
        if "script" not in body:
            return NativeOptions({}, script_prefix=prefix)
        name, text = body["script"]
        script.append(expanded(script_settings(text.encode("utf-8", "surrogateescape"), prefix, name, _QSUB)))
    target = Submission("qsub", body.get("environment", {}), body.get("cwd", ""), now)
    fold_sources(target, [*weak, *script, *strong])
    if "task_list" in target.settings:
        raise OptionError("-tasks: a library cannot submit a task list, qsub can")
    if aliases := _aliases(body):
        target.request["path_aliases"] = aliases
    return NativeOptions(target.request, tuple(url for _, url in target.settings.get("jsv", ())))


def _is_ignored(setting: Setting) -> bool:
    name, values = setting[0].name, setting[1]
    return name in _IGNORED or (name == "-w" and values[0] in _IGNORED_CHECKS)


def _script_prefix(sources: list[Source]) -> str:
    """The prefix of option lines in the script, "" if the script is not read: -b y, or an empty -C."""
    values_by_option = {option.name: values for source in sources for line in source for option, values, _ in line}
    return "" if values_by_option["-b"][0][:1].lower() == "y" else values_by_option.get("-C", [PREFIX])[0]


def _category(name: str, files: list[tuple[str, str]]) -> list[Setting]:
    """The options of a job category: of the user's file before the cell's, unless the cell forbids it with `!` (qtask(5)).

    `files`: (path, text), the cell's first. Raises OptionError.
    """
    found: list[Setting] | None = None
    for path, text in files:
        for number, line in enumerate(text.split("\n"), start=1):
            token, *rest = line.split(None, 1) or [""]
            if token.removeprefix("!") == name:
                found = line_settings(split_line(rest[0]) if rest else [], f"{path}, line {number}", _QSUB, _OTHERS)
                if token[0] == "!":
                    return found
    if found is None:
        raise OptionError(f'unknown job category "{name}"')
    return found


def _aliases(body: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The path aliases that concern the job (sge_aliases(5)). Raises InvalidValueError."""
    lines = [line for path, text in body.get("alias_files", ()) for line in parse_aliases(text, path)]
    return select_aliases(lines, body.get("host", ""), body.get("paths", ())) if lines else []
