"""The output of `-help`: the options of a command in groups, and three examples. Source: X-14; the rows of the option table.

Owns the groups and the examples, which the command pages and the man pages show as well. Loaded only for -help.
"""

from gridengine.options.commands import Command, command_named
from gridengine.options.option import VERSION, Option

_WIDTH = 43

#: titles with the names of their options; a command skips options that it does not have
_OF_JOBS = (
    ("The program and its name", "-N -b -S -shell -noshell -C -comment"),
    ("Resources and queues", "-l -hard -soft -q -masterq -pe -alloc -binding -ar -R -w"),
    ("Input, output and directory", "-cwd -wd -i -o -e -j -nostdin -pty -display"),
    ("Environment", "-v -V -ac -dc -sc"),
    ("Array jobs", "-t -tc"),
    ("Task lists", "-tasks -tasks-template -tasks-output -tasks-order -tasks-retries -max-fails"),
    ("Start conditions", "-a -dl -h -hold_jid -hold_jid_ad -hold_jid_ok -hold_jid_fail -now"),
    ("Priority and accounting", "-p -ot -js -A -P"),
    ("Notification, restart and checkpoints", "-m -M -notify -r -c -ckpt"),
    ("Sessions", "-attach -inherit -verbose"),
    ("Owners of jobs", "-u"),
    ("Submission", "-sync -terse -verify -jsv -@ -clear -help"),
)
_OF_RESERVATIONS = (
    ("Time", "-a -e -d -latest -find -recur -now -idle"),
    ("Resources and queues", "-l -q -h -masterq -pe -alloc -ckpt"),
    ("Access and notification", "-N -u -A -m -M -he -heal -w -help"),
)
_OF_STATUS = (
    ("Selection of jobs and queues", "-j -u -s -q -qs -l -pe -U -ne"),
    ("Details", "-f -F -g -r -ext -pri -urg -t -when -explain -cb -ncb"),
    ("Form of the output", "-json -xml -help"),
)
_OF_CONFIGURATION = (
    ("Cluster queues", "-sql -sq -aq -Aq -mq -Mq -dq -cq -sds"),
    ("Host groups", "-shgrpl -shgrp -shgrp_tree -shgrp_resolved -ahgrp -Ahgrp -mhgrp -Mhgrp -dhgrp"),
    ("Hosts", "-sel -se -ae -Ae -me -Me -de -sunitl -sunit -aunit -Aunit -munit -Munit -dunit -sh -ah -dh -ss -as -ds"),
    ("Resources", "-sc -mc -Mc"),
    ("Quotas", "-srqsl -srqs -arqs -Arqs -mrqs -Mrqs -drqs"),
    ("Parallel and checkpointing environments", "-spl -sp -ap -Ap -mp -Mp -dp -sckptl -sckpt -ackpt -Ackpt -mckpt -Mckpt -dckpt"),
    ("Calendars", "-scall -scal -acal -Acal -mcal -Mcal -dcal"),
    ("Managers, operators, users and projects",
     "-sm -am -dm -so -ao -do -sul -su -au -Au -mu -Mu -du -dul -suserl -suser -auser -Auser -muser -Muser -duser "
     "-sprjl -sprj -aprj -Aprj -mprj -Mprj -dprj"),
    ("Single attributes", "-mattr -rattr -aattr -dattr -purge -mqattr -Mattr -Rattr -Aattr -Dattr -Mqattr -sobjl"),
    ("Share tree", "-sstree -sst -sstnode -astree -Astree -mstree -Mstree -dstree -astnode -mstnode -dstnode -clearusage"),
    ("Cell, scheduler and daemons",
     "-sconfl -sconf -aconf -Aconf -mconf -Mconf -dconf -ssconf -msconf -Msconf -sss -tsm -ke -kej -km -ks -kt -at -secl -kec"),
    ("Form of the output", "-json -help"),
)
_GROUPS = {
    **dict.fromkeys(("qsub", "qalter", "qrsh", "qlogin", "qmake", "qsh"), _OF_JOBS),
    **dict.fromkeys(("qrsub", "qralter"), _OF_RESERVATIONS),
    "qstat": _OF_STATUS,
    "qconf": _OF_CONFIGURATION,
}
#: three calls of each command and their meaning
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "qsub": (
        ("qsub -N align -l h_rt=2:0:0,h_vmem=4G run.sh sample1", "two hours, 4 GB for each slot"),
        ("qsub -t 1-100 -tc 10 -b y ./simulate", "an array of 100 tasks, ten of them at a time"),
        ("qsub -hold_jid align -pe smp 8 merge.sh", "eight slots, after the job align"),
    ),
    "qtasks": (
        ("qtasks list 17 -s failed", "the failed commands of job 17"),
        ("qtasks retry 17 -failed", "run them again"),
        ("qtasks add 17 more.txt", "further commands, while the job runs"),
    ),
    "qmake": (
        ("qmake -cwd -v PATH -pe make 2-8 -- all", "on up to eight slots of a parallel job"),
        ("qmake -cwd -v PATH -- -j 4 all", "each command as a job of its own, four at a time"),
        ("qmake -inherit -- -k all", "in a job, on the slots that it has"),
    ),
    "qalter": (
        ("qalter -l h_rt=4:0:0 17", "change the requests of a pending job"),
        ("qalter -h U 17", "release it from the hold of its user"),
        ("qalter -w p 17", "whether it could run now"),
    ),
    "qresub": (
        ("qresub 17", "submit a copy of job 17"),
        ("qresub -h u 17", "the same, held"),
        ("qresub 17 18 19", "copies of three jobs"),
    ),
    "qdel": (
        ("qdel 17", "delete a job"),
        ("qdel 17 -t 5-9", "delete five of its tasks"),
        ('qdel -u "$USER"', "delete all your jobs"),
    ),
    "qhold": (
        ("qhold 17", "do not start job 17"),
        ("qhold 17 -t 5-9", "do not start these tasks"),
        ("qhold -h o 17", "as an operator"),
    ),
    "qrls": (
        ("qrls 17", "job 17 may start"),
        ("qrls 17 -t 5-9", "these of its tasks may"),
        ("qrls -h o 17", "take the hold of an operator away"),
    ),
    "qmod": (
        ("qmod -d all.q@node7", "nothing new starts in a queue instance"),
        ("qmod -cj 17", "clear the error state of a job"),
        ("qmod -sj 17", "suspend a job; -usj resumes it"),
    ),
    "qrsh": (
        ("qrsh", "a login shell on an exec host"),
        ("qrsh -l h_vmem=8G make", "a command there"),
        ("qrsh -pe smp 4 -now n ./interactive", "with four slots, and wait for them"),
    ),
    "qlogin": (
        ("qlogin", "a login shell on an exec host"),
        ("qlogin -q short.q", "in a queue"),
        ("qlogin -attach 17", "return to a session after the terminal was closed"),
    ),
    "qsh": (
        ("qsh", "an xterm on an exec host"),
        ("qsh -l h_vmem=8G", "with 8 GB"),
        ("qsh -display desk:0", "shown elsewhere"),
    ),
    "qstat": (
        ("qstat", "your jobs"),
        ("qstat -j 17", "everything about a job, with its pending reasons"),
        ("qstat -f -explain E", "queue instances, and the reasons of their errors"),
    ),
    "qstatus": (
        ("qstatus", "your jobs, running jobs first"),
        ("qstatus -a -c -l", "how many jobs and slots each user has"),
        ("qstatus -m -r -s time ann", "ann's jobs by age, with hosts"),
    ),
    "qsched": (
        ("qsched", "reserved start times of your jobs (-R y)"),
        ("qsched -a -f", "of the jobs of all users, with all resources"),
        ("qsched -q", "free slots and memory, and jobs that wait for them"),
    ),
    "qhost": (
        ("qhost", "hosts and their load"),
        ("qhost -q -j", "with queues and jobs"),
        ("qhost -F mem_free", "free amount of a resource"),
    ),
    "qselect": (
        ("qselect -l h_vmem=8G", "queue instances that have this"),
        ("qselect -qs E", "queue instances in error state"),
        ("qmod -cq $(qselect -qs E)", "clear them all"),
    ),
    "qexplain": (
        ("qexplain 17", "why a job is pending, and what would help"),
        ("qexplain -when 17", "when it is expected to start"),
        ("qexplain -priority 17", "which jobs are before it, and why"),
    ),
    "qquota": (
        ("qquota", "your own usage under quotas"),
        ('qquota -u "*"', "usage of all users"),
        ("qquota -l licence", "of one resource"),
    ),
    "qevent": (
        ("qevent -sm", "print the ends of tasks as they come"),
        ("qevent -trigger JB_END ./report", "run a program at each end of a job"),
        ("qevent -json", "all events, for programs"),
    ),
    "qping": (
        ("qping -info master 6444 qmaster 1", "whether the qmaster answers"),
        ("qping -info node7 6445 execd 1", "the status of an exec host"),
        ("qping -i 10 master 6444 qmaster 1", "every ten seconds"),
    ),
    "qacct": (
        ("qacct -j 17", "usage of a job"),
        ("qacct -o -d 7", "the users of the last seven days"),
        ("qacct -j align -json", "for programs"),
    ),
    "qrsub": (
        ("qrsub -a 12311800 -d 2:0:0 -pe smp 16", "sixteen slots on the evening of December 31"),
        ("qrsub -d 1:0:0 -l h=node7 -find 5", "times when the host is free"),
        ("qrsub -a 12010900 -d 1:0:0 -recur 'FREQ=DAILY;COUNT=5'", "five mornings from December 1"),
    ),
    "qralter": (
        ("qralter -d 4:0:0 3", "reservation 3 lasts longer"),
        ("qralter -u ann,bob 3", "give these users access"),
        ("qralter -heal y 3", "move slots of a lost host"),
    ),
    "qrdel": (
        ("qrdel 3", "give reservation 3 back, and delete its jobs"),
        ("qrdel -series 3", "and the later reservations of its series"),
        ('qrdel -u "$USER"', "all your reservations"),
    ),
    "qrstat": (
        ("qrstat", "your reservations"),
        ("qrstat -ar 3", "everything about one"),
        ('qrstat -u "*" -explain', "reservations of all users, with their errors"),
    ),
    "sge_share_mon": (
        ("sge_share_mon -c 1", "the share tree once"),
        ("sge_share_mon -i 30", "every 30 s"),
        ("sge_share_mon -h -f job_count,actual_share /proj", "two columns of a node"),
    ),
    "qconf": (
        ("qconf -sq all.q", "show a queue"),
        ("qconf -mattr queue slots 8 all.q", "change one attribute"),
        ("qconf -mq all.q", "change it in the editor"),
    ),
}


def groups(command: Command) -> list[tuple[str, list[Option]]]:
    """The options of a command below their titles; a single title if there are few options."""
    rows = {option.name: option for option in command.options}
    named = _GROUPS.get(command.name, (("Options", " ".join(rows)),))
    found = [(title, [rows[name] for name in names.split() if name in rows]) for title, names in named]
    return [(title, options) for title, options in found if options]


def help_text(name: str) -> str:
    """The output of a command's `-help`, with its last newline; the first line names the version."""
    command = command_named(name)
    lines = [VERSION, f"usage: {name} [options]{' ' + command.operands if command.operands else ''}", command.purpose]
    for title, options in groups(command):
        lines += ["", f"{title}:"]
        for option in options:
            call = f"   [{' '.join([' | '.join(option.names), *option.arguments])}]"
            lines.append(f"{call:<{_WIDTH}} {option.help}" if len(call) < _WIDTH else f"{call}\n{'':{_WIDTH}} {option.help}")
    lines += ["", "Examples:", *(f"   {call:<52}  {meaning}" for call, meaning in EXAMPLES[name])]
    return "\n".join(lines) + "\n"
