"""Options of qping. Source: qping(1); statement QP-1. Owns the rows, which fill settings of the command."""

from gridengine.options import fields as fold
from gridengine.options.option import Option

PING_OPTIONS: tuple[Option, ...] = (
    Option("-help --help", "", "qping", fold.flag, "help", "print this help"),
    Option("-i", "interval", "qping", fold.count, "interval", "seconds between two checks, 1 by default"),
    Option("-info", "", "qping", fold.flag, "info", "check once and print the full status; exit code 1 if nothing answers"),
    Option("-f", "", "qping", fold.flag, "full", "print the full status at each check"),
    Option("-noalias", "", "qping", fold.flag, "noalias", "take the host name as it is, without host_aliases"),
    Option("-ssl -tcp", "", "qping", fold.flag, "transport", "without effect: the connection is that of all commands"),
)
