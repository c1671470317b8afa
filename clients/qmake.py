"""qmake: GNU make that runs its commands on the hosts of a parallel job, or as separate jobs. Source: qmake(1); statement QK-1.

Owns the dispatch of commands from `make` to a host. The system's make reads one additional makefile after all others. This
makefile puts this program before the shell of each command (`qmake -rule SHELL … COMMAND`), so `SHELL` and `.SHELLFLAGS` of the
user's makefile keep their values. The makefile also names this program as `$(MAKE)`, so a recursive make is handled alike; its
command runs on the host of the first make.

Deviation: 8.1.9 brings a make of its own, and warns where SGE_ARCH is not set.
"""

import fcntl
import os
import re
import shlex
import shutil
import sys

from clients import program
from gridengine.files.executables import execute
from gridengine.options.make import MAKE_OPTIONS
from gridengine.options.option import options_of, read_options

_RULE = "-rule"
_SLOTS = "QMAKE_SLOTS"  # directory with a file for each granted slot, `INDEX.HOST`; the process that locks it uses the slot
_OPTIONS = "QMAKE_OPTIONS"  # options of the job of each command, where there is no parallel job
_RREQ = re.compile(r"""\s*SGE_RREQ=("[^"]*"|'[^']*'|\S*)\s""")
_LAST_MAKEFILE = "SHELL := {qmake} -rule $(SHELL)\nMAKE := {qmake} -inherit --\n"


def qmake(arguments: list[str]) -> int:
    """Run make; its exit status."""
    if arguments[:1] == [_RULE]:
        return _run_rule(arguments[1:])
    own, make_arguments = _split_arguments(arguments)
    settings, operands = read_options(own, options_of("qmake", MAKE_OPTIONS))
    if operands:
        return program.report_misuse("qmake", f'qmake: "{operands[0]}" is no option: arguments for make follow "--"')
    names = {option.name for option, _, _ in settings}
    options = [argument for argument in own if argument != "-inherit"]
    if "-inherit" in names:
        return _run_make(options, make_arguments)
    if "-l" not in names and os.environ.get("SGE_ARCH"):
        options += ["-l", f"arch={os.environ['SGE_ARCH']}"]
    inherited = [] if "-pe" in names else options
    return _become([_beside("qrsh"), *options, "-noshell", _beside("qmake"), "-inherit", *inherited, "--", *make_arguments])


def _split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first `--`, and the arguments behind it."""
    if "--" not in arguments:
        return arguments, []
    end = arguments.index("--")
    return arguments[:end], arguments[end + 1 :]


# --- make -----------------------------------------------------------------------------------------------------------


def _run_make(options: list[str], make_arguments: list[str]) -> int:
    """Become make, in a job, with the additional makefile as the last one. `options`: for the jobs of its commands."""
    if not os.environ.get("JOB_ID", "").isdigit():
        raise program.CommandError("qmake: -inherit works in a job only: JOB_ID is not set", 1)
    make = shutil.which("gmake") or shutil.which("make")
    if make is None:
        raise program.CommandError(f"qmake: there is no GNU make on host {os.environ.get('HOSTNAME', '')}", 1)
    files = _makefile_options(make_arguments)
    jobs: list[str] = []
    if _SLOTS not in os.environ and _OPTIONS not in os.environ:
        jobs = _export_slots(options, any(argument.startswith(("-j", "--jobs")) for argument in make_arguments))
    last_makefile = os.path.join(_private_directory(), f"behind.{os.getpid()}")
    with open(last_makefile, "w") as file:
        file.write(_LAST_MAKEFILE.format(qmake=_beside("qmake")))
    return _become([make, *jobs, *make_arguments, *files, "-f", last_makefile])


def _export_slots(options: list[str], is_limit_given: bool) -> list[str]:
    """Export the granted slots, or the job options, to the commands of this make and of recursive ones. Returns the `-j` option
    for make, unless the user gave a limit."""
    hosts = _granted_hosts()
    if not hosts:
        os.environ[_OPTIONS] = shlex.join(options)
        return []
    directory = os.path.join(_private_directory(), "slots")
    os.mkdir(directory, 0o700)
    for index, host in enumerate(hosts):
        open(os.path.join(directory, f"{index}.{host}"), "w").close()
    os.environ[_SLOTS] = directory
    return [] if is_limit_given else ["-j", str(len(hosts))]


def _granted_hosts() -> list[str]:
    """The host of each slot of the parallel job: the first slots of all hosts before the second slots. [] outside such a job."""
    try:
        with open(os.environ.get("PE_HOSTFILE", "")) as file:
            rows = [line.split() for line in file if line.strip()]
    except OSError:
        return []
    slots = [(number, order, row[0]) for order, row in enumerate(rows) for number in range(int(row[1]))]
    return [host for _, _, host in sorted(slots)]


def _makefile_options(argv: list[str]) -> list[str]:
    """`-f FILE` for the makefile that make would have found by itself, unless the arguments name a makefile."""
    directory = "."
    for index, argument in enumerate(argv):
        if argument.startswith(("-f", "--file", "--makefile")):
            return []
        if argument in ("-C", "--directory") and index + 1 < len(argv):
            directory = os.path.join(directory, argv[index + 1])
        elif argument.startswith("-C"):
            directory = os.path.join(directory, argument[2:])
        elif argument.startswith("--directory="):
            directory = os.path.join(directory, argument.partition("=")[2])
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if os.path.exists(os.path.join(directory, name)):
            return ["-f", name]
    return []


def _private_directory() -> str:
    """A private directory of this job, removed with it."""
    directory = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"qmake.{os.environ['JOB_ID']}")
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        if os.stat(directory).st_uid != os.geteuid():
            raise program.CommandError(f"qmake: {directory} belongs to another user", 1) from None
    return directory


# --- a command of a rule --------------------------------------------------------------------------------------------


def _run_rule(shell: list[str]) -> int:
    """Run a command, `[SHELL, FLAG …, COMMAND]`, in a free slot, or as a job; its exit status."""
    command = shell[-1]
    if f"{_beside('qmake')} -inherit" in command:
        return _become(shell)
    if _SLOTS in os.environ:
        host = _lock_slot(os.environ[_SLOTS])
        if host == os.environ.get("HOSTNAME"):
            return _become(shell)
        return _become([_beside("qrsh"), "-inherit", "-noshell", "-nostdin", "-cwd", "-V", host, *shell])
    options = shlex.split(os.environ.get(_OPTIONS, ""))
    requested = _RREQ.match(command)
    more = shlex.split(requested[1].strip("\"'")) if requested else []
    now = [] if "-now" in options else ["-now", "n"]
    return _become([_beside("qrsh"), *options, *more, *now, "-nostdin", "-cwd", "-V", "-noshell", *shell])


def _lock_slot(directory: str) -> str:
    """Lock a slot until this process, which becomes the command, ends; its host. Waits while all slots are in use."""
    names = sorted(os.listdir(directory), key=lambda name: int(name.partition(".")[0]))
    for wait in (False, True):
        for name in names if not wait else [names[os.getpid() % len(names)]]:
            descriptor = os.open(os.path.join(directory, name), os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                continue
            os.set_inheritable(descriptor, True)
            return name.partition(".")[2]
    raise AssertionError("the second round waits for a lock")


def _beside(name: str) -> str:
    """The path of another command of this installation."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name)


def _become(argv: list[str]) -> int:
    try:
        execute(shutil.which(argv[0]) or argv[0], argv, os.environ)
    except OSError as error:
        raise program.CommandError(f"qmake: cannot run {argv[0]}: {error.strerror}", 127) from None
