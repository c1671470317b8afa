"""Options of qping. Source: qping(1); statement QP-1. Owns the rows; they fill settings of the command."""

from gridengine.options import fields as fold
from gridengine.options.option import Option

PING_OPTIONS: tuple[Option, ...] = (
    Option("-help --help", "", "qping", fold.flag, "help", "print this help"),
    Option("-i", "interval", "qping", fold.count, "interval", "seconds between two looks, 1 by default"),
    Option("-info", "", "qping", fold.flag, "info", "look once and print all that is known; exit code 1 if nothing answers"),
    Option("-f", "", "qping", fold.flag, "full", "print all that is known at each look"),
    Option("-noalias", "", "qping", fold.flag, "noalias", "take the host name as it is, without host_aliases"),
    Option("-ssl -tcp", "", "qping", fold.flag, "transport", "without effect: the way is that of all commands"),
)
