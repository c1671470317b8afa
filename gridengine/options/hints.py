"""Hints for an unknown option: options with a similar name, and equivalents of options of Slurm and PBS.

Owns the translations of their options. Loaded only after an error.
"""

import difflib

from gridengine.options.commands import command_named
from gridengine.terminal.hints import did_you_mean

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
#: options of 8.1.9 that a command lacks -> their replacement
_REPLACEMENTS = {
    "qping": dict.fromkeys(("-dump", "-dump_tag"), "qevent -sm shows what happens, qexplain -story whose doing it was"),
}
_SUBMITTING = ("qsub", "qrsh", "qlogin", "qsh", "qalter")
def usage_line(command: str) -> str:
    """One line with the usage of a command and a reference to its -help."""
    return f'{_usage(command)}; "{command} -help" lists the options'


def unknown_option_hint(command: str, argument: str) -> str:
    """One line with a hint for an argument that is no option of the command (AR-23)."""
    option = argument.partition("=")[0]
    if command in _SUBMITTING:
        option = next(iter(difflib.get_close_matches(option, FOREIGN_OPTIONS, n=1, cutoff=0.85)), option)
        if option in FOREIGN_OPTIONS:
            return f"{_usage(command)}; {option} is {FOREIGN_OPTIONS[option]} here"
    if replacement := _REPLACEMENTS.get(command, {}).get(option):
        return f"{_usage(command)}; {option} is not there: {replacement}"
    near = did_you_mean(argument, [name for option in command_named(command).options for name in option.names])
    return f"{_usage(command)}; {near}" if near else usage_line(command)


def _usage(command: str) -> str:
    return " ".join(filter(None, ("usage:", command, "[options]", command_named(command).operands)))
