"""loadcheck: the current load values of this host, without a daemon. Source: O.

Owns its own reading of /proc: `daemons.execd.load`, which measures the values that `sge_execd` reports, needs a library.
"""

import os
import sys

from gridengine.files.architecture import architecture
from gridengine.terminal.standard_output import with_output_check
from gridengine.values.topology import Topology

_CPUS = "/sys/devices/system/cpu"
_USAGE = """usage: loadcheck [-cb] | [-int] [-loadval name]
\t\t[-cb] \t\t\t\t Shows core binding and processor topology related information.
\t\t[-int]\t\t\t\t Print as integer
\t\t[-loadval]\t\t\t Select specific load value
"""


@with_output_check
def main() -> int:
    """`loadcheck -cb` or `loadcheck [-int] [-loadval NAME]`."""
    argv, whole, selected = sys.argv[1:], False, ""
    if argv == ["-cb"]:
        sys.stdout.write(_binding(_topology()))
        return 1  # as 8.1.9 does
    while argv:
        option = argv.pop(0)
        if option == "-int":
            whole = True
        elif option == "-loadval" and argv:
            selected = argv.pop(0)
        else:
            sys.stderr.write(_USAGE)
            return 1
    values = _values(_topology(), whole)
    sys.stdout.write("".join(f"{name:15} {value}\n" for name, value in values.items() if selected in ("", name)))
    return 0


def _values(topology: Topology, whole: bool) -> "dict[str, str]":
    """Load value -> text. `whole`: memory in whole megabytes."""
    layout = topology.text()
    values = {"arch": architecture(os.uname().machine), "num_proc": str(topology.processor_count)}
    values |= {"m_socket": str(layout.count("S")), "m_core": str(layout.count("C"))}
    values |= {"m_thread": str(topology.processor_count), "m_topology": layout}
    for name, load in zip(("short", "medium", "long"), os.getloadavg(), strict=True):
        values[f"load_{name}"] = f"{load:.2f}"
    sizes = _memory()
    for kind in ("free", "total", "used"):
        for name in ("mem", "swap", "virtual"):
            size = sizes[name][kind]
            values[f"{name}_{kind}"] = str(int(size)) if whole else f"{size:.6f}M"
    return values | {"cpu": f"{_cpu_percent():.1f}%"}


def _memory() -> "dict[str, dict[str, float]]":
    """Megabytes by kind of memory, and by "free", "used" and "total"."""
    with open("/proc/meminfo") as file:
        sizes = {name: int(rest.split()[0]) / 1024 for name, _, rest in (line.partition(":") for line in file)}
    totals = {"mem": (sizes["MemTotal"], sizes["MemAvailable"]), "swap": (sizes["SwapTotal"], sizes["SwapFree"])}
    totals["virtual"] = (totals["mem"][0] + totals["swap"][0], totals["mem"][1] + totals["swap"][1])
    return {name: {"total": total, "free": free, "used": total - free} for name, (total, free) in totals.items()}


def _cpu_percent() -> float:
    """Use of all processors since the host was booted: there is no earlier sample for a difference."""
    with open("/proc/stat") as file:
        times = [int(field) for field in file.readline().split()[1:9]]
    return 100.0 * (1.0 - (times[3] + times[4]) / max(1, sum(times)))


def _topology() -> Topology:
    processors = []
    for name in os.listdir(_CPUS) if os.path.isdir(_CPUS) else ():
        if name.startswith("cpu") and name[3:].isdigit():
            try:
                processors.append((_number(name, "physical_package_id"), _number(name, "core_id"), int(name[3:])))
            except (OSError, ValueError):
                continue  # offline
    return Topology.of(processors or [(0, number, number) for number in range(os.cpu_count() or 1)])


def _number(processor: str, file_name: str) -> int:
    with open(f"{_CPUS}/{processor}/topology/{file_name}") as file:
        return int(file.read())


def _binding(topology: Topology) -> str:
    layout = topology.text()
    rows = [
        "Your SGE has core binding functionality.",
        f"Your kernel version is: {os.uname().release}",
        f"Number of sockets:\t\t{layout.count('S')}",
        f"Number of cores:\t\t{layout.count('C')}",
        f"Number of threads:\t\t{topology.processor_count}",
        f"Topology:\t\t\t{layout}",
        "Mapping of logical socket and core numbers to internal",
    ]
    for socket, core in topology.cores:
        numbers = "".join(f"{number:7d}" for number in topology.processors([(socket, core)]))
        rows.append(f"Internal processor ids for socket {socket:5d} core {core:5d}:{numbers}")
    return "\n".join(rows) + "\n"
