"""Runs odd jobs in two cells and prints the differences of their outcomes: `odd_jobs.py CELL.env REFERENCE.env [PATTERN]`.

Owns the table of jobs (limits exceeded, signals, exit codes, shells, methods that fail ...) and the comparison of
`qacct`, `qstat` and the output of the job. A cell is given by its file of command prefixes, as `make cell` writes it; the
reference is usually the original. Each job gets a separate queue on one host, removed at the end. Prints one line a
job and exits with 1 if outcomes differ. Run by hand, as administrator of both cells.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 150
_FIELDS = ("failed", "exit_status")


@dataclass(frozen=True)
class Odd:
    """One job. `queue`: attributes of its queue; `script`: None for `-b y` with `command`; `show`: compare its output.

    `EXIT n` in an attribute stands for a program that exits with n. `elsewhere`: the original puts all queues of the host
    into error because of this job, so the job gets another host.
    """

    name: str
    options: str = ""
    script: str | None = None
    command: str = ""
    queue: dict[str, str] = field(default_factory=dict)
    show: bool = False
    elsewhere: bool = False


GROW = "/usr/bin/python3 -c \"x=b'1'*300000000\""
RECURSE = "/usr/bin/python3 -c 'import sys; sys.setrecursionlimit(10**6); f = lambda n: sorted([n], key=f); f(0)'"
BURN = "while :; do :; done"
ARGV = "tr '\\0' '|' </proc/$$/cmdline | sed s,/[^\\|]*/job_scripts/[0-9]*,SCRIPT,; echo"
TRAPS = "for s in USR1 USR2 XCPU TERM; do trap \"echo $s\" $s; done; for i in 1 2 3 4 5 6 7 8; do sleep 1; done"


JOBS = [
    Odd("exit0", script="exit 0"),
    Odd("exit1", script="exit 1"),
    Odd("exit98", script="exit 98"),
    Odd("exit99", script="test $RESTARTED = 1 || exit 99"),
    Odd("exit100", script="exit 100"),
    Odd("exit137", script="exit 137"),
    Odd("exit255", script="exit 255"),
    *(Odd(f"signal{n}", script=f"kill -{n} $$; sleep 5") for n in (1, 2, 3, 6, 8, 9, 11, 13, 14, 15, 16, 10, 12, 24, 34)),
    Odd("killchild", script="sh -c 'kill -9 $$'; echo $?", show=True),
    Odd("badshell", "-S /no/such/shell", script="true"),
    Odd("shellnotexec", "-S /etc/passwd", script="true"),
    Odd("shelldir", "-S /tmp", script="true"),
    Odd("baddir", "-wd /no/such/dir", script="true"),
    Odd("filedir", "-wd /etc/passwd", script="true"),
    Odd("closeddir", "-wd /root", script="true"),
    Odd("badout", "-o /no/such/dir/out", script="true"),
    Odd("closedout", "-o /etc/passwd", script="true"),
    Odd("baderr", "-e /proc/version -j n", script="true"),
    Odd("badin", "-i /no/such/file", script="true"),
    Odd("outhost", "-o nowhere:/tmp/x", script="true"),
    Odd("missing", command="/no/such/program"),
    Odd("missingn", "-shell n", command="/no/such/program"),
    Odd("notexec", command="/etc/passwd"),
    Odd("notexecn", "-shell n", command="/etc/passwd"),
    Odd("directory", command="/tmp"),
    Odd("directoryn", "-shell n", command="/tmp"),
    Odd("noshebang", script="echo $0 | sed s,.*/job_scripts/.*,SCRIPT,", show=True, queue={"shell_start_mode": "unix_behavior"}),
    Odd("crlf", script="#!/bin/sh\r\necho a\r\nexit 3\r\n", show=True),
    Odd("crlfunix", script="#!/bin/sh\r\necho a\r\n", queue={"shell_start_mode": "unix_behavior"}),
    Odd("badinter", script="#!/no/such/interpreter\ntrue\n", queue={"shell_start_mode": "unix_behavior"}),
    Odd("empty", script=""),
    Odd("syntax", script="if then fi"),
    Odd("argv", script=ARGV, show=True),
    Odd("argvS", "-S /bin/bash", script=ARGV, show=True),
    Odd("argvargs", script=ARGV, command="a 'b c' '' '$HOME' '*'", show=True),
    Odd("argvstdin", script=ARGV, command="a b", show=True, queue={"shell_start_mode": "script_from_stdin"}),
    Odd("argvstdinS", "-S /bin/bash", script=ARGV, show=True, queue={"shell_start_mode": "script_from_stdin"}),
    Odd("argvunix", script="#!/bin/bash -u\n" + ARGV, command="a b", show=True, queue={"shell_start_mode": "unix_behavior"}),
    Odd("argvcsh", script=ARGV, show=True, queue={"shell": "/bin/bash"}),
    Odd("binary", command="/bin/sh -c 'echo $0 $SHELL'", show=True),
    Odd("binaryn", "-shell n", command="/bin/echo a 'b  c' '$HOME'", show=True),
    Odd("binaryS", "-S /bin/bash", command="/bin/echo '$0'", show=True),
    Odd("binarypath", command="echo found", show=True),
    Odd("binarypathn", "-shell n", command="echo found", show=True),
    Odd("umask", script="umask", show=True),
    Odd("groups", script="id -nG | tr ' ' '\\n' | grep -v '^[0-9]*$'; id -un", show=True),
    Odd("limits", script="ulimit -a | grep -v -e pending -e processes -e 'open files'", show=True),
    Odd("environ", script="env | cut -d= -f1 | sort | tr '\\n' ' '; echo", show=True),
    Odd("tmpdir", script="test -d $TMPDIR -a -w $TMPDIR && stat -c '%a %U' $TMPDIR; test $TMP = $TMPDIR && echo same", show=True),
    Odd("stdin", script="cat; readlink /proc/self/fd/0", show=True),
    Odd("nice", script="nice", show=True, queue={"priority": "7"}),
    Odd("huge", script="head -c 20000000 /dev/zero"),
    Odd("closefds", script="exec 0<&- 1>&- 2>&-; exit 4"),
    Odd("daemon", script="(setsid sleep 300 &) ; exit 5"),
    Odd("starter", script=ARGV, command="a b", queue={"starter_method": "/bin/echo"}, show=False),
    Odd("noqueueshell", script="true", queue={"shell": "/no/such/shell"}),
    Odd("noqueueshellS", "-S /bin/sh", script="true", queue={"shell": "/no/such/shell"}),
    Odd("nostarter", script="true", queue={"starter_method": "/no/such/starter"}),
    # limits
    Odd("h_rt", "-l h_rt=3", script="sleep 300"),
    Odd("s_rt", "-l s_rt=3", script="sleep 300"),
    Odd("s_rttrap", "-l s_rt=3", script=TRAPS, show=True, queue={"notify": "0:0:2"}),
    Odd("h_rtnotify", "-l h_rt=4 -notify", script=TRAPS, show=True, queue={"notify": "0:0:2"}),
    Odd("h_cpu", "-l h_cpu=2", script=BURN),
    Odd("s_cpu", "-l s_cpu=2", script=BURN),
    Odd("h_cpuforks", "-l h_cpu=3", script=f"({BURN}) & ({BURN}) & wait"),
    Odd("h_fsize", "-l h_fsize=10k", script="exec head -c 100000 /dev/zero >$TMPDIR/x"),
    Odd("s_fsize", "-l s_fsize=10k", script="exec head -c 100000 /dev/zero >$TMPDIR/x"),
    Odd("h_vmem", "-l h_vmem=100M", script=f"exec {GROW} 2>/dev/null"),
    Odd("s_vmem", "-l s_vmem=100M", script=f"exec {GROW} 2>/dev/null"),
    Odd("h_data", "-l h_data=100M", script=f"exec {GROW} 2>/dev/null"),
    Odd("h_stack", "-l h_stack=200k", script=f"exec {RECURSE}"),
    Odd("h_rss", "-l h_rss=10M", script=f"exec {GROW}"),
    Odd("h_core", "-l h_core=0", script="ulimit -c; kill -6 $$", show=True),
    Odd("queueh_rt", script="sleep 300", queue={"h_rt": "0:0:3"}),
    Odd("smallerh_rt", "-l h_rt=3", script="sleep 300", queue={"h_rt": "0:1:0"}),
    Odd("qlimits", script="ulimit -Ss; ulimit -Hs; ulimit -Sd; ulimit -Hd; ulimit -Sv; ulimit -Hv; ulimit -Sf; ulimit -Hf",
        queue={"s_stack": "4M", "h_stack": "9M", "h_data": "2G", "s_vmem": "3G", "h_vmem": "4G", "h_fsize": "1G"}, show=True),
    # methods
    *(Odd(f"prolog{n}", script="true", queue={"prolog": f"EXIT {n}"}) for n in (1, 98, 99, 100)),
    *(Odd(f"epilog{n}", script="test $RESTARTED = 0", queue={"epilog": f"EXIT {n}"}) for n in (1, 98, 99, 100)),
    Odd("noprolog", script="true", queue={"prolog": "/no/such/prolog"}, elsewhere=True),
    Odd("noepilog", script="true", queue={"epilog": "/no/such/epilog"}),
    Odd("prologuser", script="true", queue={"prolog": "root@/usr/bin/id -un"}, show=True),
    Odd("prologbaduser", script="true", queue={"prolog": "nobodyhere@/bin/true"}, elsewhere=True),
    Odd("prologvars", script="true", queue={"prolog": "/bin/echo $job_owner $job_name $ja_task_id $processors"}, show=True),
    Odd("epilogkilled", script="true", queue={"epilog": "/usr/bin/timeout -s KILL 1 sleep 9"}),
    Odd("termsignal", "-l h_rt=3", script=TRAPS, show=True, queue={"terminate_method": "SIGTERM", "notify": "0:0:4"}),
    Odd("termmethod", "-l h_rt=3", script="sleep 100", queue={"terminate_method": "/bin/kill -2 $job_pid"}),
]


class Cell:
    """A cell, driven by its command prefixes. Its name is in all files: users may share a home directory."""

    def __init__(self, env: Path) -> None:
        command = f'. {env}; printf "%s\\n" "$TARGET" "$MGR" "$ALICE" "$HOSTS"'
        text = subprocess.run(["bash", "-c", command], text=True, capture_output=True, check=True).stdout
        self.name, self.manager, self.alice, hosts = text.splitlines()
        self.host, self.other_host = hosts.split()[0], hosts.split()[-1]
        self.exit = f"/tmp/odd_exit.{self.name}"
        for prefix in {self.manager, *(self.alice.replace(self.host, host) for host in (self.host, self.other_host))}:
            self.run(prefix, f"printf '#!/bin/sh\\nexit $1\\n' >{self.exit}; chmod 755 {self.exit}")

    def run(self, prefix: str, command: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*shlex.split(prefix), "bash", "-c", command], input=stdin, text=True, capture_output=True, errors="replace"
        )
        return done.stdout + done.stderr

    def make_queue(self, job: Odd) -> None:
        name = queue_of(job)
        template = self.run(self.manager, "SGE_SINGLE_LINE=1 qconf -sq")
        host = self.other_host if job.elsewhere else self.host
        attributes = {"qname": name, "hostlist": host, "slots": "2", "seq_no": "9", "load_thresholds": "NONE",
                  "pe_list": "NONE", "shell_start_mode": "posix_compliant", **job.queue}  # fmt: skip
        pairs = [line.partition(" ")[::2] for line in template.splitlines()]
        text = "".join(f"{key} {attributes.get(key, value.strip())}\n" for key, value in pairs).replace("EXIT", self.exit)
        answer = self.run(self.manager, f"f=$(mktemp); cat >$f; qconf -Aq $f; rm $f; qconf -sq {name} >/dev/null", text)
        if "No cluster queue" in answer:
            raise SystemExit(f"{job.name}: {answer}")

    def submit(self, job: Odd) -> str:
        output = "" if "-o" in job.options.split() else f"-o $HOME/odd.{self.name}.{job.name}"
        merge = "" if "-j" in job.options.split() else "-j y"
        common = f"qsub -terse -r y -N odd_{job.name} -q {queue_of(job)} {output} {merge} {job.options}"
        if job.script is None:
            text, command = "", f"{common} -b y -- {job.command}".replace(" -- ", " ")
        else:
            script = f"odd_script.{self.name}.{job.name}"
            text, command = job.script, f"cat >{script}; {common} {script} {job.command}"
        answer = self.run(self.alice, f"cd; rm -f odd.{self.name}.{job.name}; {command}", text)
        found = re.search(r"^(\d+)$", answer, re.MULTILINE)
        return found[1] if found else f"refused: {answer.strip()}"

    def outcome(self, job: Odd, number: str) -> dict[str, str]:
        """Wait until the job is over, or stays behind in error or in a queue in error; say how."""
        until = time.monotonic() + PATIENCE_S
        found: dict[str, str] = {}
        while time.monotonic() < until:
            line = self.run(self.alice, f"qstat -u alice | grep '^ *{number} '").split()
            queue = self.run(self.alice, f"qstat -f -q {queue_of(job)} | grep '^{queue_of(job)}'").split()
            found = {"job": line[4] if len(line) > 4 else "gone", "queue": "E" if len(queue) > 5 and "E" in queue[5] else ""}
            if found["job"] == "gone" or "E" in found["job"] or ("E" in found["queue"] and found["job"] == "qw"):
                break
            time.sleep(1)
        if found["job"] != "gone":
            self.run(self.alice, f"qdel {number}")
        return found | self._accounting(number, until) | ({"output": self._output(job)} if job.show else {})

    def _accounting(self, number: str, until: float) -> dict[str, str]:
        while time.monotonic() < until + 30:
            text = self.run(self.alice, f"qacct -j {number}")
            tries = [dict.fromkeys(_FIELDS, "")]
            for line in text.splitlines():
                key, _, value = line.partition(" ")
                if key in _FIELDS:
                    tries[-1][key] = value.split()[0]
                elif line.startswith("===="):
                    tries.append({})
            if len(tries) > 1:
                return {"tries": " ".join("/".join(each.get(key, "?") for key in _FIELDS) for each in tries[1:4])}
            time.sleep(1)
        return {"tries": "none"}

    def _output(self, job: Odd) -> str:
        return self.run(self.alice, f"cat $HOME/odd.{self.name}.{job.name}").strip()

    def clean(self, jobs: list[Odd]) -> None:
        self.run(self.alice, f"qdel 'odd_*'; cd; rm -f odd_script.{self.name}.* odd.{self.name}.*")
        time.sleep(3)
        self.run(self.manager, "; ".join(f"qconf -dq {queue_of(job)}" for job in jobs))


def queue_of(job: Odd) -> str:
    return f"odd_{job.name}.q"


def outcomes(cell: Cell, jobs: list[Odd]) -> dict[str, dict[str, str]]:
    """The outcomes of all jobs in a cell."""
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(cell.make_queue, jobs))
            numbers = dict(zip([job.name for job in jobs], pool.map(cell.submit, jobs), strict=True))
        started = [job for job in jobs if numbers[job.name].isdigit()]
        with ThreadPoolExecutor(8) as pool:
            ends = list(pool.map(lambda job: cell.outcome(job, numbers[job.name]), started))
        found = {job.name: end for job, end in zip(started, ends, strict=True)}
        return {job.name: found.get(job.name, {"job": numbers[job.name]}) for job in jobs}
    finally:
        cell.clean(jobs)


def main(arguments: list[str]) -> int:
    """Command line. 1 if the cells differ, 2 for wrong usage."""
    if len(arguments) not in (2, 3):
        print("usage: odd_jobs.py CELL.env REFERENCE.env [PATTERN]", file=sys.stderr)
        return 2
    pattern = arguments[2] if len(arguments) > 2 else ""
    jobs = [job for job in JOBS if re.search(pattern, job.name)]
    cells = [Cell(Path(path).absolute()) for path in arguments[:2]]
    with ThreadPoolExecutor(2) as pool:
        here, reference = pool.map(lambda cell: outcomes(cell, jobs), cells)
    differing = 0
    for job in jobs:
        same = here[job.name] == reference[job.name]
        differing += not same
        print("same" if same else "DIFF", f"{job.name:15}", here[job.name])
        if not same:
            print(f"     {'reference':15}", reference[job.name])
    print(f"{len(jobs)} jobs, {differing} differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
