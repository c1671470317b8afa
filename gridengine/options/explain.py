"""Options of qexplain, the rows alone."""

from gridengine.options import fields as fold
from gridengine.options.option import Option

EXPLAIN_OPTIONS: tuple[Option, ...] = (
    Option("-help --help", "", "qexplain", fold.flag, "help", "print this help"),
    Option("-story", "", "qexplain", fold.flag, "story", "print the event logs of jobs, by number, also of ended jobs"),
    Option("-priority", "", "qexplain", fold.flag, "priority", "print how priorities came about, and the jobs before"),
    Option("-when", "", "qexplain", fold.flag, "when", "print expected starts as ranges, and what they rest on"),
    Option("-duration", "", "qexplain", fold.flag, "duration", "print likely run times, learned from ended jobs"),
    Option("-json", "", "qexplain", fold.flag, "json", "print JSON"),
)
