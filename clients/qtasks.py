"""qtasks: the commands of a task list, from another shell: their states and outputs, further commands, and retries (adr/0260).

The job itself calls `qtasks run`, and on further hosts `qtasks worker`. Beyond Grid Engine; see `qsub -tasks`.
"""

import sys

from clients import program
from clients.program import CommandError
from gridengine.options.task_lists import TASK_LIST_OPTIONS

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clients.task_runner.saved_list import SavedList

_MISUSED = 2


def qtasks(arguments: list[str]) -> int:
    """Carry out a sub-command; its exit status."""
    if arguments[:1] == ["run"] and len(arguments) == 2:
        from clients.task_runner.job_run import run

        return run(arguments[1])
    if arguments[:1] == ["worker"] and len(arguments) == 4 and arguments[2].isdigit():
        from clients.task_runner.remote_host import work

        return work(arguments[1], int(arguments[2]), arguments[3])
    fields, operands = program.simple_options("qtasks", TASK_LIST_OPTIONS, arguments, status=_MISUSED)
    if len(operands) < 2 or operands[0] not in _COMMANDS:
        return _report_misuse(f"one of {', '.join(_COMMANDS)} is expected, and a job")
    command, job, *rest = operands
    if not (job.isascii() and job.isdigit()):
        return _report_misuse(f'"{job}" is no number of a job')
    return _COMMANDS[command](job, fields, rest)


def _report_misuse(text: str) -> int:
    program.report_misuse("qtasks", f"qtasks: {text}")
    return _MISUSED


def _list(job: str, fields: "dict[str, Any]", rest: list[str]) -> int:
    """`list JOB`: a line for each command."""
    from clients.task_runner import list_output
    from clients.task_runner.saved_list import find_list

    if rest:
        return _report_misuse(f'"{rest[0]}" is too much: list takes a job')
    saved, _ = find_list(job, fields.get("directory", ""))
    states = fields.get("states")
    lines = [line for line in saved.lines if states is None or saved.state(line.number).state in states]
    if fields.get("json"):
        program.print_json(list_output.as_json(saved, lines))
    elif fields.get("lines"):
        sys.stdout.writelines(f"{line.command}\n" for line in lines)
    else:
        program.show(list_output.table(saved, lines))
    return 0


def _show(job: str, fields: "dict[str, Any]", rest: list[str]) -> int:
    """`show JOB NUMBER`: everything about a command, and its outputs if they are kept apart."""
    from clients.task_runner import list_output
    from clients.task_runner.saved_list import find_list

    if len(rest) != 1:
        return _report_misuse("show takes a job and the number of a command")
    saved, _ = find_list(job, fields.get("directory", ""))
    line = saved.lines[_numbers(saved, rest)[0] - 1]
    if fields.get("json"):
        program.print_json(list_output.as_json(saved, [line]))
    else:
        program.show(list_output.details(saved, line))
    return 0


def _add(job: str, fields: "dict[str, Any]", rest: list[str]) -> int:
    """`add JOB FILE|-`: further commands, which are on the disk before this answers."""
    if len(rest) != 1:
        return _report_misuse("add takes a job, and a file with commands or -")
    text = _input(rest[0])
    saved, requests = _open_list(job, fields)
    with requests.locked():
        saved = type(saved)(saved.directory)  # as it is now that no other command adds to it
        lines = saved.read_further(text, "standard input" if rest[0] == "-" else rest[0])
        if not lines:
            raise CommandError(f"qtasks: {rest[0]} has no commands", 1)
        _request(job, requests, add=text)
    number = f"command {lines[0].number}" if len(lines) == 1 else f"commands {lines[0].number} to {lines[-1].number}"
    print(f"{number} added to job {job}")
    return 0


def _retry(job: str, fields: "dict[str, Any]", rest: list[str]) -> int:
    """`retry JOB NUMBER...`, or all failed commands with -failed."""
    from gridengine.task_lists.task_states import FAILED, SKIPPED

    if bool(rest) == bool(fields.get("failed")):
        return _report_misuse("retry takes a job, and numbers of commands or -failed")
    saved, requests = _open_list(job, fields)
    numbers = _numbers(saved, rest) or [line.number for line in saved.lines if saved.state(line.number).state == FAILED]
    for number in numbers:
        if (state := saved.state(number).state) not in (FAILED, SKIPPED):
            raise CommandError(f"qtasks: command {number} of job {job} is {state}: a failed or a skipped one can run again", 1)
        if (cause := saved.state(number).cause) and cause not in numbers:
            raise CommandError(f"qtasks: command {number} of job {job} is skipped after command {cause}: retry that one", 1)
    if not numbers:
        raise CommandError(f"qtasks: no command of job {job} has failed", 1)
    with requests.locked():
        _request(job, requests, retry=numbers)
    print(f"{len(numbers)} command{'s' * (len(numbers) > 1)} of job {job} to run again")
    return 0


def _open_list(job: str, fields: "dict[str, Any]") -> "tuple[SavedList, Any]":
    """The list of a job that the cell has, and its file of requests. Raises CommandError."""
    from clients.task_runner.saved_list import find_list

    saved, is_there = find_list(job, fields.get("directory", ""))
    if not is_there:
        _refuse_ended(job)
    return saved, saved.requests()


def _request(job: str, requests: "Any", **fields: object) -> None:
    """Write a request, while the file is locked. Raises CommandError if the runner takes none any more."""
    from clients.task_runner.record_files import request_line

    if not requests.is_open:
        _refuse_ended(job)
    try:
        requests.append(request_line(**fields))
    except OSError as error:
        raise CommandError(f"qtasks: the request cannot be written: {error.strerror}", 1) from None


def _refuse_ended(job: str) -> None:
    again = f"qtasks list {job} -s failed -lines | qsub -tasks -"
    raise CommandError(f'qtasks: the list of job {job} has ended; "{again}" submits its failed commands as a new job', 1)


def _numbers(saved: "SavedList", texts: list[str]) -> list[int]:
    """Numbers of commands, also by name. Raises CommandError."""
    names = {line.name: line.number for line in saved.lines if line.name}
    found = []
    for text in texts:
        number = int(text) if text.isascii() and text.isdigit() else names.get(text, 0)
        if not 1 <= number <= len(saved.lines):
            raise CommandError(f'qtasks: the list has no command "{text}": it has 1 to {len(saved.lines)}', 1)
        found.append(number)
    return found


def _input(name: str) -> str:
    data: bytes
    try:
        if name == "-":
            data = program.read_limited(sys.stdin.buffer, program.MAX_SCRIPT_SIZE)
        else:
            with open(name, "rb") as file:
                data = program.read_limited(file, program.MAX_SCRIPT_SIZE)
    except OSError as error:
        raise CommandError(f"qtasks: cannot read {name}: {error.strerror}", 1) from None
    return data.decode("utf-8", "surrogateescape")


_COMMANDS: "dict[str, Callable[[str, dict[str, Any], list[str]], int]]" = {
    "list": _list,
    "show": _show,
    "add": _add,
    "retry": _retry,
}
