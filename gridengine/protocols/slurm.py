"""The contract of the hosts and the commands with Slurm's names: the mark of their jobs, and Slurm's notation of lists.

Owns the mark, a variable of the job's context, and the numbers of its tasks: Slurm's may begin at 0, which is task 1.
Light, for commands. Called by `clients.slurm` and the exec hosts. Source: sbatch(1) and squeue(1) of 22.05; adr/0160.
"""

import re

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: variable of the context: difference between a task's number and Slurm's number of it
MARK = "slurm_array_offset"
_NUMBERED = re.compile(r"(.*?)(\d+)$")


def array_offset(context: "Mapping[str, str]") -> "int | None":
    """0 or 1 for a job that sbatch has submitted, None for any other job."""
    text = context.get(MARK)
    return None if text is None else int(text == "1")


def node_list(hosts: "Iterable[str]") -> str:
    """Hosts in Slurm's notation: `n[1-3,7],login`. Each once; leading zeros are kept."""
    parts: list[str] = []
    numbered: dict[tuple[str, int], list[int]] = {}
    for host in dict.fromkeys(hosts):
        match = _NUMBERED.match(host)
        if match is None:
            parts.append(host)
        else:
            padded = len(match[2]) if match[2].startswith("0") else 0
            numbered.setdefault((match[1], padded), []).append(int(match[2]))
    for (stem, width), numbers in numbered.items():
        runs = _runs(sorted(numbers), width)
        parts.append(stem + (runs if len(numbers) == 1 else f"[{runs}]"))
    return ",".join(parts)


def number_list(numbers: "Iterable[int]") -> str:
    """`0-4,7`."""
    return _runs(sorted(set(numbers)), 0)


def _runs(numbers: "list[int]", width: int) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(f"{number:0{width}}" for number in run) for run in runs)
