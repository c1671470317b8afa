"""The scripts of the jobs, and the file of their notes: evidence that no daemon can forge.

Defines the form of a line: kind (one character), job, task, host, seconds since boot, process, name, and details. Letters: B
and E for the begin and end of a try, S and T for a slave task. Written by jobs on all hosts, read by `evidence`.
"""

from __future__ import annotations

from pathlib import Path

_SAY = """say() {{
  read up idle < /proc/uptime
  echo "$1 $JOB_ID ${{SGE_TASK_ID:-undefined}} $(hostname) $up $$ $JOB_NAME $2" >> {lines}
}}
"""
#: run.sh SECONDS LICENCES, of each slot
_RUN = """#!/bin/sh
#$ -S /bin/sh -j y -o /dev/null
{say}
at=$(hostname):1
[ -z "$PE_HOSTFILE" ] || at=$(awk '{{printf "%s:%s,", $1, $2}}' "$PE_HOSTFILE")
[ -d "$TMPDIR" ] && : > "$TMPDIR/left"
say B "lic=$(($2 * NSLOTS)) at=$at"
sleep "$1"
say E
"""
#: tight.sh SECONDS LICENCES: a slave task on each host of the job
_TIGHT = """#!/bin/sh
#$ -S /bin/sh -j y -o /dev/null
{say}
at=$(awk '{{printf "%s:%s,", $1, $2}}' "$PE_HOSTFILE")
say B "lic=$(($2 * NSLOTS)) at=$at"
for host in $(awk '{{print $1}}' "$PE_HOSTFILE"); do qrsh -inherit "$host" {place}/slave.sh "$1" & done
wait
say E
"""
_SLAVE = """#!/bin/sh
{say}
say S
sleep "$1"
say T
"""


class Scripts:
    """The scripts in a directory that all hosts see, and all users may write to."""

    def __init__(self, place: Path) -> None:
        self.lines = place / "lines"
        self.run, self.tight = place / "run.sh", place / "tight.sh"
        self.lines.touch()
        self.lines.chmod(0o666)
        say = _SAY.format(lines=self.lines)
        for path, text in ((self.run, _RUN), (self.tight, _TIGHT), (place / "slave.sh", _SLAVE)):
            path.write_text(text.format(say=say, place=place))
            path.chmod(0o755)
