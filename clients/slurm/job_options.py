"""The job options of Slurm, and the equivalent arguments of qsub.

Owns the table of options for sbatch and srun. Options without an equivalent are refused by name, with the alternative from
`gridengine.options.hints`. Source: sbatch(1) of 22.05; docs/slurm.md; adr/0160.
"""

import os
import re
import time

from clients.slurm.arguments import SlurmError, SlurmOption, flag
from clients.slurm.values import count, moment, seconds, size
from gridengine.options.hints import FOREIGN_OPTIONS
from gridengine.protocols.slurm import MARK

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

PE_VARIABLE = "SGE_SLURM_PE"
"""The parallel environment of jobs of several slots, for MPI over hosts; without it such jobs have none."""
_MAIL = {"BEGIN": "b", "END": "e", "FAIL": "a", "REQUEUE": "a", "ALL": "abe", "NONE": "n", "INVALID_DEPEND": "a"}
_DEPENDENCIES = {"afterok": "-hold_jid_ok", "afterany": "-hold_jid", "afternotok": "-hold_jid_fail", "aftercorr": "-hold_jid_ad"}
_PATTERN = re.compile(r"%(%|[0-9]*[A-Za-z])")
_IN_PATHS = {"%": "%", "j": "$JOB_ID", "A": "$JOB_ID", "J": "$JOB_ID", "a": "$TASK_ID", "x": "$JOB_NAME", "u": "$USER"} | {
    "N": "$HOSTNAME",
    "n": "0",
    "t": "0",
    "s": "0",
}
_MODEL = re.compile(r"[\w.-]*")
_ARRAY = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?(?:%(\d+))?")


class JobOptions:
    """The options of a job. Counts are 0 and texts "" for options not given; `arguments`: for qsub, from options with a direct
    equivalent.
    """

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.name = self.wrap = self.array = self.output = self.error = self.export = self.chdir = ""
        self.nodes = self.tasks = self.tasks_per_node = self.cpus_per_task = 0
        self.gpus = self.gpus_per_node = self.gpus_per_task = 0
        self.gpu_model = ""
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


def _argument(option: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: job.arguments.extend([option, value])


def _arguments(*arguments: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: job.arguments.extend(arguments)


def _set(name: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: setattr(job, name, value)


def _on(name: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: setattr(job, name, True)


def _count(name: str, option: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: setattr(job, name, count(value, option))


def _size(name: str) -> "Callable[[JobOptions, str], None]":
    return lambda job, value: setattr(job, name, size(value))


def _ignore(job: JobOptions, value: str) -> None:
    """Accept an option without an effect here."""


def _nodes(job: JobOptions, value: str) -> None:
    least, _, most = value.partition("-")
    if most and most != least:
        raise SlurmError(f"--nodes={value}: a range has no counterpart, say one number")
    job.nodes = count(least, "--nodes")


def _time(job: JobOptions, value: str) -> None:
    if (limit := seconds(value)) is not None:
        job.arguments += ["-l", f"h_rt={limit}"]


def _gpus(field: str, option: str) -> "Callable[[JobOptions, str], None]":
    """`2` or `h100:2`."""

    def fold(job: JobOptions, value: str) -> None:
        model, _, number = value.rpartition(":")
        if not number.isdecimal() or not _MODEL.fullmatch(model):
            raise SlurmError(f"{option}={value}: NUMBER or TYPE:NUMBER is understood, of one type")
        if model and job.gpu_model not in ("", model):
            raise SlurmError(f"{option}={value}: GPUs of the type {job.gpu_model} are requested already, and a job has one type")
        job.gpu_model = model or job.gpu_model
        setattr(job, field, count(number, option))

    return fold


def _gres(job: JobOptions, value: str) -> None:
    """`gpu`, `gpu:2`, `gpu:h100`, `gpu:h100:2`: GPUs of each node."""
    kind, _, number = value.partition(":")
    if kind not in ("gpu", "gpus") or "," in value:
        raise SlurmError(f"{value}: gpu:NUMBER is understood; anything else is -l RESOURCE=NUMBER (qconf -sc) by qsub")
    if not number.rpartition(":")[2].isdecimal():
        number = f"{number}:1" if number else "1"
    _gpus("gpus_per_node", "--gres")(job, number)


def _mail(job: JobOptions, value: str) -> None:
    codes = "".join(_MAIL.get(event.upper(), "?") for event in value.split(","))
    if "?" in codes:
        raise SlurmError(f"Invalid --mail-type specification: {value}; there are {', '.join(_MAIL)}")
    job.arguments += ["-m", "n" if codes == "n" else "".join(code for code in "abe" if code in codes)]


def _nice(job: JobOptions, value: str) -> None:
    text = value or "100"
    if not re.fullmatch(r"-?\d+", text) or abs(int(text)) > 1023:
        raise SlurmError(f"--nice={value}: from -1023 to 1023")
    job.arguments += ["-p", str(-int(text))]


def _refuse(names: str) -> SlurmOption:
    """A row of an option without an equivalent here."""
    name = names.split()[0]

    def fold(job: JobOptions, value: str) -> None:
        instead = FOREIGN_OPTIONS.get(name)
        raise SlurmError(f"{name} has no counterpart in the same sense" + (f"; by qsub there is {instead}" if instead else ""))

    return SlurmOption(names, fold, optional=True)


JOB_ROWS = (
    SlurmOption("--account -A", _argument("-A")),
    SlurmOption("--begin -b", lambda job, value: job.arguments.extend(["-a", moment(value, time.time())])),
    SlurmOption("--chdir -D --workdir", _set("chdir")),
    SlurmOption("--comment", _argument("-comment")),
    SlurmOption("--cpus-per-task -c", _count("cpus_per_task", "--cpus-per-task")),
    SlurmOption("--dependency -d", _set("dependency")),
    SlurmOption("--error -e", _set("error")),
    SlurmOption("--exclusive", _arguments("-l", "exclusive=true"), optional=True),
    SlurmOption("--export", _set("export")),
    SlurmOption("--gpus -G", _gpus("gpus", "--gpus")),
    SlurmOption("--gpus-per-node", _gpus("gpus_per_node", "--gpus-per-node")),
    SlurmOption("--gpus-per-task", _gpus("gpus_per_task", "--gpus-per-task")),
    SlurmOption("--gres", _gres),
    flag("--hold -H", _arguments("-h")),
    SlurmOption("--input -i", _argument("-i")),
    SlurmOption("--job-name -J", _set("name")),
    SlurmOption("--mail-type", _mail),
    SlurmOption("--mail-user", _argument("-M")),
    SlurmOption("--mem", _size("memory")),
    SlurmOption("--mem-per-cpu", _size("memory_per_cpu")),
    SlurmOption("--nice", _nice, optional=True),
    SlurmOption("--nodelist -w", lambda job, value: job.arguments.extend(["-l", f"h={value.replace(',', '|')}"])),
    SlurmOption("--nodes -N", _nodes),
    SlurmOption("--ntasks -n", _count("tasks", "--ntasks")),
    SlurmOption("--ntasks-per-node --tasks-per-node", _count("tasks_per_node", "--ntasks-per-node")),
    SlurmOption("--output -o", _set("output")),
    SlurmOption("--partition -p", _argument("-q")),
    SlurmOption("--reservation", _argument("-ar")),
    SlurmOption("--time -t", _time),
    *(flag(names, _ignore) for names in ("--quiet -Q", "--verbose -v", "--oversubscribe -s", "--no-kill -k")),
    *(SlurmOption(names, _ignore) for names in ("--open-mode", "--hint", "--get-user-env")),
    *map(_refuse, ("--qos -q", "--constraint -C", "--deadline", "--licenses -L", "--exclude -x", "--signal", "--time-min")),
    *map(_refuse, ("--mem-per-gpu", "--gpus-per-socket", "--gpu-bind", "--gpu-freq")),
    *map(_refuse, ("--tmp", "--cluster -M", "--priority", "--mem-bind")),
)
SBATCH_ROWS = (
    *JOB_ROWS,
    SlurmOption("--array -a", _set("array")),
    flag("--parsable", _on("parsable")),
    flag("--requeue", _arguments("-r", "y")),
    flag("--no-requeue", _arguments("-r", "n")),
    flag("--test-only", _on("test_only")),
    flag("--wait -W", _on("wait")),
    SlurmOption("--wrap", _set("wrap")),
)


def qsub_arguments(job: JobOptions) -> list[str]:
    """All arguments for qsub without its operands. Raises SlurmError."""
    arguments = [*_environment(job), *(["-wd", job.chdir] if job.chdir else ["-cwd"]), "-N", job.name, *job.arguments]
    arguments += [*_array(job), *_files(job), *_resources(job)]
    for condition in filter(None, job.dependency.split(",")):
        arguments += _condition(condition, job.name)
    return arguments


def _environment(job: JobOptions) -> list[str]:
    """--export, by default all variables; and Slurm's variables of the requested counts."""
    given = job.export.split(",") if job.export else ["ALL"]
    arguments = ["-V"] if "ALL" in given else []
    named = [item for item in given if item not in ("ALL", "NONE", "NIL", "")]
    counts = {"SLURM_NTASKS": job.tasks, "SLURM_NPROCS": job.tasks, "SLURM_CPUS_PER_TASK": job.cpus_per_task}
    counts |= {"SLURM_NTASKS_PER_NODE": job.tasks_per_node, "SLURM_MEM_PER_NODE": job.memory >> 20}
    counts |= {"SLURM_MEM_PER_CPU": job.memory_per_cpu >> 20}
    named += [f"{name}={number}" for name, number in counts.items() if number]
    for item in named:
        arguments += ["-v", item]
    return arguments


def _array(job: JobOptions) -> list[str]:
    """Tasks begin at 1: if Slurm's begin at 0 all are shifted by one, and the job's context records the offset."""
    match = _ARRAY.fullmatch(job.array) if job.array else None
    if not job.array:
        return ["-ac", f"{MARK}=0"]
    if match is None:
        raise SlurmError(f"--array={job.array}: FIRST-LAST[:STEP][%LIMIT] is understood, lists of tasks have no counterpart")
    first, last, step, limit = match.groups()
    offset = int(int(first) == 0)
    tasks = f"{int(first) + offset}-{int(last or first) + offset}"
    arguments = ["-ac", f"{MARK}={offset}", "-t", tasks + (f":{step}" if step else "")]
    return [*arguments, "-tc", limit] if limit else arguments


def _files(job: JobOptions) -> list[str]:
    output = job.output or ("slurm-%A_%a.out" if job.array else "slurm-%j.out")
    arguments = ["-o", _path(output)]
    return [*arguments, "-e", _path(job.error)] if job.error and job.error != output else [*arguments, "-j", "y"]


def _path(text: str) -> str:
    def code(match: "re.Match[str]") -> str:
        if match[1] not in _IN_PATHS:
            raise SlurmError(f"%{match[1]} in {text} has no counterpart; there are %{', %'.join(_IN_PATHS)}")
        return _IN_PATHS[match[1]]

    return _PATTERN.sub(code, text)


def _resources(job: JobOptions) -> list[str]:
    """Slots and their distribution, memory per slot, GPUs per node."""
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
    arguments = ["-alloc", rule, str(slots)] if slots > 1 else []
    if arguments and (environment := os.environ.get(PE_VARIABLE)):
        arguments = ["-pe", environment, str(slots), *arguments]
    on_node = slots if rule in ("", "$pe_slots") else int(rule) if rule.isdecimal() else 0
    if job.memory and not on_node:
        raise SlurmError("--mem is for a node, and how many tasks a node gets is not known: say --mem-per-cpu, or --nodes")
    if job.memory or job.memory_per_cpu:
        arguments += ["-l", f"h_vmem={job.memory_per_cpu or -(-job.memory // on_node)}"]
    return arguments + _gpu_requests(job, slots, on_node)


def _gpu_requests(job: JobOptions, slots: int, on_node: int) -> list[str]:
    """The GPUs of each slot, and their type. `on_node`: slots of each node, 0 for unknown. Raises SlurmError."""
    if job.gpus_per_node and not on_node:
        raise SlurmError("GPUs are requested for a node, and how many tasks a node gets is not known: say --nodes")
    asked = [(job.gpus_per_task, max(job.cpus_per_task, 1)), (job.gpus_per_node, on_node), (job.gpus, slots)]
    shares = [(gpus, of) for gpus, of in asked if gpus]
    if not shares:
        return []
    (gpus, of), *others = shares
    if any(gpus * other_of != other * of for other, other_of in others):
        raise SlurmError("--gpus, --gpus-per-node, --gpus-per-task and --gres contradict each other")
    arguments = ["-l", f"gpu={gpus}/{of}" if gpus % of else f"gpu={gpus // of}"]
    return [*arguments, "-l", f"gpu_type={job.gpu_model}"] if job.gpu_model else arguments


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
