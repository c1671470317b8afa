"""`qtasks run SCRIPT`, in a job: the runner for its list, with the slots that the job has, on this host and on further hosts.

Owns the variables that a runner takes from the environment of its job.

Source: sge_submit(1) ENVIRONMENTAL VARIABLES; sge_pe(5) $pe_hostfile.
"""

import gc
import os
import stat
from collections.abc import Mapping

from clients.program import CommandError
from clients.task_runner.capture import is_one_file
from clients.task_runner.local_host import LocalHost
from clients.task_runner.progress_report import ProgressReport, quiet_process
from clients.task_runner.record_files import make_directory
from clients.task_runner.remote_host import RemoteHost
from clients.task_runner.runner import Host, Runner
from clients.task_runner.wakeups import Wakeups
from gridengine.errors import UserError
from gridengine.files.durable import durable_write
from gridengine.task_lists.list_script import read_script

_WORKER = 'exec "$SGE_BINARY_PATH/qtasks" worker "$0" "$1" "$2"'
#: exit status of a job whose list cannot be served
_FAILED = 1


def run(script: str) -> int:
    """Serve the list in the script of this job; the exit status of the job."""
    environment = os.environ
    try:
        with open(script, "rb") as file:
            content = file.read()
        options, lines = read_script(content.decode("utf-8", "surrogateescape"), script)
        directory = list_directory(environment)
        make_directory(directory)
        if not os.path.exists(f"{directory}/list"):
            from pathlib import Path

            durable_write(Path(directory, "list"), content)
        programs = environment.get("SGE_BINARY_PATH", "")
        progress = ProgressReport(environment.get("JOB_ID", ""), f"{programs}/qalter", directory, quiet_process)
        gc.enable()  # a command of a moment does without
        gc.freeze()
        wakeups = Wakeups()
        return Runner(directory, options, lines, _hosts(environment, options.output), wakeups, progress).run()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise CommandError(f"qtasks: the list cannot be served: {place}{error.strerror}", _FAILED) from None
    except UserError as error:
        raise CommandError(f"qtasks: {error}", _FAILED) from None


def list_directory(environment: Mapping[str, str]) -> str:
    """The directory of the list: beside the job's output, or where the job works if its output goes into no file."""
    output = environment.get("SGE_STDOUT_PATH", "")
    beside = os.path.dirname(output) if os.path.isabs(output) and stat.S_ISREG(os.fstat(1).st_mode) else os.getcwd()
    return os.path.join(beside, f"{environment.get('JOB_NAME', 'tasks')}.t{environment.get('JOB_ID', '0')}")


def _hosts(environment: Mapping[str, str], output: str) -> list[Host]:
    """This host, and the further hosts of a parallel job, with their slots. `output`: of OUTPUTS."""
    own, slots = environment.get("HOSTNAME") or os.uname().nodename, _granted(environment)
    local = slots.pop(own, 0) or (1 if slots else int(environment.get("NSLOTS") or 1))
    found: list[Host] = [LocalHost(own, local, environment, keeps_output=output != "none")]
    is_one = is_one_file()
    for host, count in slots.items():
        command = ["/bin/sh", "-c", _WORKER, host, str(count), output]
        qrsh = f"{environment.get('SGE_BINARY_PATH', '')}/qrsh"
        found.append(RemoteHost(host, count, [qrsh, "-inherit", "-noshell", "-cwd", "-V", host, *command], is_one))
    return found


def _granted(environment: Mapping[str, str]) -> dict[str, int]:
    """The slots of a parallel job by host; {} for another job."""
    found: dict[str, int] = {}
    if path := environment.get("PE_HOSTFILE"):
        with open(path) as file:
            for row in map(str.split, file):
                found[row[0]] = found.get(row[0], 0) + int(row[1])
    return found
