"""What somebody may have meant by an option that is not known: a near one, or one of Slurm or PBS.

Owns the translations of their options. Loaded only when something is wrong.
"""

import difflib

from gridengine.hints import did_you_mean
from gridengine.options.commands import command_named

_PE = "-pe PE SLOTS"
#: options of sbatch(1) and PBS's qsub(1) -> options here
FOREIGN_OPTIONS = {
    "--time": "-l h_rt=TIME",
    "--mem": "-l h_vmem=SIZE",
    "--mem-per-cpu": "-l h_vmem=SIZE, which is for each slot",
    "--ntasks": _PE,
    "--cpus-per-task": _PE,
    "--nodes": f"{_PE}; how slots are spread is the environment's allocation_rule, or -alloc",
    "--job-name": "-N NAME",
    "--output": "-o PATH",
    "--error": "-e PATH",
    "--input": "-i PATH",
    "--array": "-t FIRST-LAST, and -tc for how many at a time",
    "--dependency": "-hold_jid JOBS, -hold_jid_ok, -hold_jid_fail or -hold_jid_ad",
    "--partition": "-q QUEUES",
    "--account": "-P PROJECT, or -A for a text in the accounting record",
    "--qos": "-p PRIORITY or -P PROJECT",
    "--mail-type": "-m abes",
    "--mail-user": "-M ADDRESS",
    "--export": "-v NAME=VALUE, or -V for the whole environment",
    "--chdir": "-wd DIRECTORY",
    "--workdir": "-wd DIRECTORY",
    "--hold": "-h",
    "--begin": "-a TIME",
    "--deadline": "-dl TIME",
    "--gres": "-l RESOURCE=NUMBER, as the complex table names it (qconf -sc)",
    "--gpus": "-l RESOURCE=NUMBER, as the complex table names it (qconf -sc)",
    "--exclusive": "-l exclusive=true",
    "--wrap": "-b y COMMAND",
    "--parsable": "-terse",
    "--wait": "-sync y",
    "--requeue": "-r y",
    "--no-requeue": "-r n",
    "--reservation": "-ar ID",
    "--nodelist": "-l h=HOST",
    "--constraint": "-l RESOURCE=VALUE",
    "--nice": "-p PRIORITY",
    "--test-only": "-w v",
    "--comment": "-comment TEXT",
    "-W": "-hold_jid for depend=, -ac for other attributes",
    "-I": "qrsh or qlogin",
    "-X": "qrsh, with a display by -display",
    "-J": "-N NAME of Slurm, -t FIRST-LAST of PBS",
    "-D": "-wd DIRECTORY",
    "-k": "-o and -e",
    "-n": _PE,
}
#: options of 8.1.9 that a command lacks -> what is there instead
_INSTEAD = {
    "qping": dict.fromkeys(("-dump", "-dump_tag"), "qevent -sm shows what happens, qexplain -story whose doing it was"),
}
_SUBMITTING = ("qsub", "qrsh", "qlogin", "qsh", "qalter")
def form_of(command: str) -> str:
    """How a command is called, and where its options are told: one line."""
    return f'{_call(command)}; "{command} -help" lists the options'


def unknown_option(command: str, word: str) -> str:
    """What to say of a word that a command does not know as an option: one line (AR-23)."""
    option = word.partition("=")[0]
    if command in _SUBMITTING:
        option = next(iter(difflib.get_close_matches(option, FOREIGN_OPTIONS, n=1, cutoff=0.85)), option)
        if option in FOREIGN_OPTIONS:
            return f"{_call(command)}; {option} is {FOREIGN_OPTIONS[option]} here"
    if instead := _INSTEAD.get(command, {}).get(option):
        return f"{_call(command)}; {option} is not there: {instead}"
    near = did_you_mean(word, [name for option in command_named(command).options for name in option.names])
    return f"{_call(command)}; {near}" if near else form_of(command)


def _call(command: str) -> str:
    return " ".join(filter(None, ("usage:", command, "[options]", command_named(command).operands)))
