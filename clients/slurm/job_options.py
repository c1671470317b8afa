"""The options of a job as Slurm has them, and the words for qsub that mean the same.

Owns the one table of sbatch and srun. What a site cannot have in the same sense is refused by name, with what there is instead;
those sentences are `gridengine.options.hints`'. Source: sbatch(1) of 22.05; docs/slurm.md; adr/0160.
"""

import os
import re
import time

from clients.slurm.values import count, moment, seconds, size
from clients.slurm.words import SlurmError, SlurmOption, flag
from gridengine.options.hints import FOREIGN_OPTIONS
from gridengine.slurm import MARK

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

PE_VARIABLE = "SGE_SLURM_PE"
"""Names the parallel environment of jobs of several slots, for MPI over hosts; without it they have none."""
_MAIL = {"BEGIN": "b", "END": "e", "FAIL": "a", "REQUEUE": "a", "ALL": "abe", "NONE": "n", "INVALID_DEPEND": "a"}
_DEPENDENCIES = {"afterok": "-hold_jid_ok", "afterany": "-hold_jid", "afternotok": "-hold_jid_fail", "aftercorr": "-hold_jid_ad"}
_PATTERN = re.compile(r"%(%|[0-9]*[A-Za-z])")
_IN_PATHS = {"%": "%", "j": "$JOB_ID", "A": "$JOB_ID", "J": "$JOB_ID", "a": "$TASK_ID", "x": "$JOB_NAME", "u": "$USER"} | {
    "N": "$HOSTNAME",
    "n": "0",
    "t": "0",
    "s": "0",
}
_ARRAY = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?(?:%(\d+))?")


class JobWishes:
    """What a job is to be. Counts are 0 and texts "" where nothing was said; `words`: for qsub, of what needs no others."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.name = self.wrap = self.array = self.output = self.error = self.export = self.chdir = ""
        self.nodes = self.tasks = self.tasks_per_node = self.cpus_per_task = self.gpus = 0
        self.memory = self.memory_per_cpu = 0
        self.dependency = ""
        self.parsable = self.wait = self.test_only = False

    @property
    def slots(self) -> int:
        """Slots in all. Raises SlurmError where the options contradict each other."""
        tasks = self.tasks or max(self.nodes, 1) * max(self.tasks_per_node, 1)
        if self.nodes and self.tasks_per_node and self.tasks and tasks > self.nodes * self.tasks_per_node:
            raise SlurmError("more --ntasks than --nodes times --ntasks-per-node")
        return tasks * max(self.cpus_per_task, 1)


def _word(option: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: job.words.extend([option, value])


def _words(*words: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: job.words.extend(words)


def _set(name: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: setattr(job, name, value)


def _on(name: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: setattr(job, name, True)


def _count(name: str, option: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: setattr(job, name, count(value, option))


def _size(name: str) -> "Callable[[JobWishes, str], None]":
    return lambda job, value: setattr(job, name, size(value))


def _ignored(job: JobWishes, value: str) -> None:
    """It changes nothing that matters here."""


def _nodes(job: JobWishes, value: str) -> None:
    least, _, most = value.partition("-")
    if most and most != least:
        raise SlurmError(f"--nodes={value}: a range has no counterpart, say one number")
    job.nodes = count(least, "--nodes")


def _time(job: JobWishes, value: str) -> None:
    if (limit := seconds(value)) is not None:
        job.words += ["-l", f"h_rt={limit}"]


def _gpus(job: JobWishes, value: str) -> None:
    """`gpu`, `gpu:2` of --gres, `2` of --gpus."""
    kind, _, number = value.rpartition(":")
    if number == "gpu":
        kind, number = "gpu", "1"
    if kind not in ("", "gpu") or not number.isdecimal():
        raise SlurmError(f"{value}: gpu:NUMBER is understood; anything else is -l RESOURCE=NUMBER (qconf -sc) by qsub")
    job.gpus = count(number, "--gres")


def _mail(job: JobWishes, value: str) -> None:
    letters = "".join(_MAIL.get(word.upper(), "?") for word in value.split(","))
    if "?" in letters:
        raise SlurmError(f"Invalid --mail-type specification: {value}; there are {', '.join(_MAIL)}")
    job.words += ["-m", "n" if letters == "n" else "".join(letter for letter in "abe" if letter in letters)]


def _nice(job: JobWishes, value: str) -> None:
    text = value or "100"
    if not re.fullmatch(r"-?\d+", text) or abs(int(text)) > 1023:
        raise SlurmError(f"--nice={value}: from -1023 to 1023")
    job.words += ["-p", str(-int(text))]


def _refuse(names: str) -> SlurmOption:
    """A row of an option that means something which is not here."""
    name = names.split()[0]

    def fold(job: JobWishes, value: str) -> None:
        instead = FOREIGN_OPTIONS.get(name)
        raise SlurmError(f"{name} has no counterpart in the same sense" + (f"; by qsub there is {instead}" if instead else ""))

    return SlurmOption(names, fold, optional=True)


JOB_ROWS = (
    SlurmOption("--account -A", _word("-A")),
    SlurmOption("--begin -b", lambda job, value: job.words.extend(["-a", moment(value, time.time())])),
    SlurmOption("--chdir -D --workdir", _set("chdir")),
    SlurmOption("--comment", _word("-comment")),
    SlurmOption("--cpus-per-task -c", _count("cpus_per_task", "--cpus-per-task")),
    SlurmOption("--dependency -d", _set("dependency")),
    SlurmOption("--error -e", _set("error")),
    SlurmOption("--exclusive", _words("-l", "exclusive=true"), optional=True),
    SlurmOption("--export", _set("export")),
    SlurmOption("--gpus -G", _gpus),
    SlurmOption("--gres", _gpus),
    flag("--hold -H", _words("-h")),
    SlurmOption("--input -i", _word("-i")),
    SlurmOption("--job-name -J", _set("name")),
    SlurmOption("--mail-type", _mail),
    SlurmOption("--mail-user", _word("-M")),
    SlurmOption("--mem", _size("memory")),
    SlurmOption("--mem-per-cpu", _size("memory_per_cpu")),
    SlurmOption("--nice", _nice, optional=True),
    SlurmOption("--nodelist -w", lambda job, value: job.words.extend(["-l", f"h={value.replace(',', '|')}"])),
    SlurmOption("--nodes -N", _nodes),
    SlurmOption("--ntasks -n", _count("tasks", "--ntasks")),
    SlurmOption("--ntasks-per-node --tasks-per-node", _count("tasks_per_node", "--ntasks-per-node")),
    SlurmOption("--output -o", _set("output")),
    SlurmOption("--partition -p", _word("-q")),
    SlurmOption("--reservation", _word("-ar")),
    SlurmOption("--time -t", _time),
    *(flag(names, _ignored) for names in ("--quiet -Q", "--verbose -v", "--oversubscribe -s", "--no-kill -k")),
    *(SlurmOption(names, _ignored) for names in ("--open-mode", "--hint", "--get-user-env")),
    *map(_refuse, ("--qos -q", "--constraint -C", "--deadline", "--licenses -L", "--exclude -x", "--signal", "--time-min")),
    *map(_refuse, ("--mem-per-gpu", "--gpus-per-node", "--gpus-per-task", "--tmp", "--cluster -M", "--priority", "--mem-bind")),
)
SBATCH_ROWS = (
    *JOB_ROWS,
    SlurmOption("--array -a", _set("array")),
    flag("--parsable", _on("parsable")),
    flag("--requeue", _words("-r", "y")),
    flag("--no-requeue", _words("-r", "n")),
    flag("--test-only", _on("test_only")),
    flag("--wait -W", _on("wait")),
    SlurmOption("--wrap", _set("wrap")),
)


def qsub_words(job: JobWishes) -> list[str]:
    """All words for qsub but its operands. Raises SlurmError."""
    words = [*_environment(job), *(["-wd", job.chdir] if job.chdir else ["-cwd"]), "-N", job.name, *job.words]
    words += [*_array(job), *_files(job), *_places(job)]
    for condition in filter(None, job.dependency.split(",")):
        words += _condition(condition, job.name)
    return words


def _environment(job: JobWishes) -> list[str]:
    """--export: everything if nothing is said; and what Slurm says of counts that were asked for."""
    given = job.export.split(",") if job.export else ["ALL"]
    words = ["-V"] if "ALL" in given else []
    named = [item for item in given if item not in ("ALL", "NONE", "NIL", "")]
    counts = {"SLURM_NTASKS": job.tasks, "SLURM_NPROCS": job.tasks, "SLURM_CPUS_PER_TASK": job.cpus_per_task}
    counts |= {"SLURM_NTASKS_PER_NODE": job.tasks_per_node, "SLURM_MEM_PER_NODE": job.memory >> 20}
    counts |= {"SLURM_MEM_PER_CPU": job.memory_per_cpu >> 20}
    named += [f"{name}={number}" for name, number in counts.items() if number]
    for item in named:
        words += ["-v", item]
    return words


def _array(job: JobWishes) -> list[str]:
    """Tasks begin at 1: where Slurm's begin at 0 all of them are moved by one, and the job says so."""
    match = _ARRAY.fullmatch(job.array) if job.array else None
    if not job.array:
        return ["-ac", f"{MARK}=0"]
    if match is None:
        raise SlurmError(f"--array={job.array}: FIRST-LAST[:STEP][%LIMIT] is understood, lists of tasks have no counterpart")
    first, last, step, limit = match.groups()
    offset = int(int(first) == 0)
    tasks = f"{int(first) + offset}-{int(last or first) + offset}"
    words = ["-ac", f"{MARK}={offset}", "-t", tasks + (f":{step}" if step else "")]
    return [*words, "-tc", limit] if limit else words


def _files(job: JobWishes) -> list[str]:
    output = job.output or ("slurm-%A_%a.out" if job.array else "slurm-%j.out")
    words = ["-o", _path(output)]
    return [*words, "-e", _path(job.error)] if job.error and job.error != output else [*words, "-j", "y"]


def _path(text: str) -> str:
    def letter(match: "re.Match[str]") -> str:
        if match[1] not in _IN_PATHS:
            raise SlurmError(f"%{match[1]} in {text} has no counterpart; there are %{', %'.join(_IN_PATHS)}")
        return _IN_PATHS[match[1]]

    return _PATTERN.sub(letter, text)


def _places(job: JobWishes) -> list[str]:
    """Slots and how they are spread, memory of each, GPUs of each node."""
    slots, rule = job.slots, ""
    if job.nodes:
        if slots % job.nodes:
            raise SlurmError(f"{slots} processors cannot be the same on each of {job.nodes} nodes: say --ntasks-per-node")
        rule = "$pe_slots" if job.nodes == 1 else str(slots // job.nodes)
    elif slots > 1:
        if job.tasks > 1 and job.cpus_per_task > 1:
            raise SlurmError("--ntasks with --cpus-per-task: say --nodes, too, so that no task is spread over nodes")
        per_node = job.tasks_per_node * max(job.cpus_per_task, 1)
        rule = "$pe_slots" if job.cpus_per_task > 1 else str(per_node) if per_node else "$fill_up"
    words = ["-alloc", rule, str(slots)] if slots > 1 else []
    if words and (environment := os.environ.get(PE_VARIABLE)):
        words = ["-pe", environment, str(slots), *words]
    on_node = slots if rule in ("", "$pe_slots") else int(rule) if rule.isdecimal() else 0
    if job.memory and not on_node:
        raise SlurmError("--mem is for a node, and how many tasks a node gets is not known: say --mem-per-cpu, or --nodes")
    if job.memory or job.memory_per_cpu:
        words += ["-l", f"h_vmem={job.memory_per_cpu or -(-job.memory // on_node)}"]
    if job.gpus:
        if not on_node:
            raise SlurmError("--gres is for a node, and how many tasks a node gets is not known: say --nodes")
        words += ["-l", f"gpu={job.gpus}/{on_node}" if job.gpus % on_node else f"gpu={job.gpus // on_node}"]
    return words


def _condition(condition: str, name: str) -> list[str]:
    kind, _, jobs = condition.partition(":")
    if kind == "singleton":
        return ["-hold_jid", name]
    numbers = [number for number in jobs.split(":") if number]
    if "?" in condition or kind not in _DEPENDENCIES or not numbers:
        known = ", ".join([*_DEPENDENCIES, "singleton"])
        raise SlurmError(f"--dependency={condition}: there are {known}, all of which must be met, with numbers of jobs")
    if wrong := [number for number in numbers if not number.isdecimal()]:
        raise SlurmError(f"--dependency={condition}: {wrong[0]} is no number of a job; single tasks cannot be waited for")
    return [_DEPENDENCIES[kind], ",".join(numbers)]
