"""qmake: GNU make whose commands run on the hosts of a parallel job, or as jobs of their own. Source: qmake(1); statement QK-1.

Owns the way from `make` to a host. Make itself is the one of the system, which reads one makefile more, behind all others: it
puts this program before the shell of each command (`qmake -rule SHELL … COMMAND`), so that `SHELL` and `.SHELLFLAGS` of the
makefile stay as they are, and names it as `$(MAKE)`, so that a make below goes the same way. Such a command runs where make runs.

Deviation: 8.1.9 brings a make of its own, and warns where SGE_ARCH is not set.
"""

import fcntl
import os
import re
import shlex
import shutil
import sys

from clients import program
from gridengine.executables import execute
from gridengine.options.make import MAKE_OPTIONS
from gridengine.options.option import options_of, read_options

_RULE = "-rule"
_SLOTS = "QMAKE_SLOTS"  # directory with a file for each granted slot, `INDEX.HOST`; whoever has locked it has the slot
_OPTIONS = "QMAKE_OPTIONS"  # what each job of a command asks for, where there is no parallel job
_RREQ = re.compile(r"""\s*SGE_RREQ=("[^"]*"|'[^']*'|\S*)\s""")
_BEHIND_ALL = "SHELL := {qmake} -rule $(SHELL)\nMAKE := {qmake} -inherit --\n"


def qmake(arguments: list[str]) -> int:
    """The exit status is make's."""
    if arguments[:1] == [_RULE]:
        return _run_rule(arguments[1:])
    own, make_words = _divided(arguments)
    settings, operands = read_options(own, options_of("qmake", MAKE_OPTIONS))
    if operands:
        return program.misused("qmake", f'qmake: "{operands[0]}" is no option: what is for make follows "--"')
    names = {option.name for option, _, _ in settings}
    words = [word for word in own if word != "-inherit"]
    if "-inherit" in names:
        return _run_make(words, make_words)
    if "-l" not in names and os.environ.get("SGE_ARCH"):
        words += ["-l", f"arch={os.environ['SGE_ARCH']}"]
    inherited = [] if "-pe" in names else words
    return _become([_beside("qrsh"), *words, "-noshell", _beside("qmake"), "-inherit", *inherited, "--", *make_words])


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is before the first `--`, and what is behind it."""
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


# --- make -----------------------------------------------------------------------------------------------------------


def _run_make(options: list[str], make_words: list[str]) -> int:
    """Become make, in a job, with the makefile behind all others. `options`: of the jobs of its commands."""
    if not os.environ.get("JOB_ID", "").isdigit():
        raise program.Failure("qmake: -inherit works in a job only: JOB_ID is not set", 1)
    make = shutil.which("gmake") or shutil.which("make")
    if make is None:
        raise program.Failure(f"qmake: there is no GNU make on host {os.environ.get('HOSTNAME', '')}", 1)
    files = _makefiles(make_words)
    jobs: list[str] = []
    if _SLOTS not in os.environ and _OPTIONS not in os.environ:
        jobs = _begin(options, any(word.startswith(("-j", "--jobs")) for word in make_words))
    behind_all = os.path.join(_private(), f"behind.{os.getpid()}")
    with open(behind_all, "w") as file:
        file.write(_BEHIND_ALL.format(qmake=_beside("qmake")))
    return _become([make, *jobs, *make_words, *files, "-f", behind_all])


def _begin(options: list[str], told: bool) -> list[str]:
    """Say to the commands of this make, and of all below it, where they run; how many may run at a time, unless it was said."""
    hosts = _granted()
    if not hosts:
        os.environ[_OPTIONS] = shlex.join(options)
        return []
    place = os.path.join(_private(), "slots")
    os.mkdir(place, 0o700)
    for index, host in enumerate(hosts):
        open(os.path.join(place, f"{index}.{host}"), "w").close()
    os.environ[_SLOTS] = place
    return [] if told else ["-j", str(len(hosts))]


def _granted() -> list[str]:
    """The host of each slot of the parallel job, the first of each host before the second of one; none in another job."""
    try:
        with open(os.environ.get("PE_HOSTFILE", "")) as file:
            rows = [line.split() for line in file if line.strip()]
    except OSError:
        return []
    slots = [(number, place, row[0]) for place, row in enumerate(rows) for number in range(int(row[1]))]
    return [host for _, _, host in sorted(slots)]


def _makefiles(words: list[str]) -> list[str]:
    """`-f FILE` for the makefile that make would have found by itself, unless the words name one."""
    directory = "."
    for index, word in enumerate(words):
        if word.startswith(("-f", "--file", "--makefile")):
            return []
        if word in ("-C", "--directory") and index + 1 < len(words):
            directory = os.path.join(directory, words[index + 1])
        elif word.startswith("-C"):
            directory = os.path.join(directory, word[2:])
        elif word.startswith("--directory="):
            directory = os.path.join(directory, word.partition("=")[2])
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if os.path.exists(os.path.join(directory, name)):
            return ["-f", name]
    return []


def _private() -> str:
    """A directory of this job's own that goes with it."""
    place = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"qmake.{os.environ['JOB_ID']}")
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        if os.stat(place).st_uid != os.geteuid():
            raise program.Failure(f"qmake: {place} is somebody else's", 1) from None
    return place


# --- a command of a rule --------------------------------------------------------------------------------------------


def _run_rule(shell: list[str]) -> int:
    """Run a command, `[SHELL, FLAG …, COMMAND]`, where a slot is free, or as a job; the exit status is the command's."""
    command = shell[-1]
    if f"{_beside('qmake')} -inherit" in command:
        return _become(shell)
    if _SLOTS in os.environ:
        host = _free_slot(os.environ[_SLOTS])
        if host == os.environ.get("HOSTNAME"):
            return _become(shell)
        return _become([_beside("qrsh"), "-inherit", "-noshell", "-nostdin", "-cwd", "-V", host, *shell])
    asked = shlex.split(os.environ.get(_OPTIONS, ""))
    wish = _RREQ.match(command)
    more = shlex.split(wish[1].strip("\"'")) if wish else []
    now = [] if "-now" in asked else ["-now", "n"]
    return _become([_beside("qrsh"), *asked, *more, *now, "-nostdin", "-cwd", "-V", "-noshell", *shell])


def _free_slot(place: str) -> str:
    """Lock a slot until this process, which becomes the command, ends; its host. Waits while all are in use."""
    names = sorted(os.listdir(place), key=lambda name: int(name.partition(".")[0]))
    for wait in (False, True):
        for name in names if not wait else [names[os.getpid() % len(names)]]:
            descriptor = os.open(os.path.join(place, name), os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                continue
            os.set_inheritable(descriptor, True)
            return name.partition(".")[2]
    raise AssertionError("the last one was waited for")


def _beside(name: str) -> str:
    """Another command of this installation."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), name)


def _become(words: list[str]) -> int:
    try:
        execute(shutil.which(words[0]) or words[0], words, os.environ)
    except OSError as error:
        raise program.Failure(f"qmake: cannot run {words[0]}: {error.strerror}", 127) from None


def main() -> int:
    return program.run("qmake", qmake)
