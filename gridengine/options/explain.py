"""Options of qexplain, the rows alone."""

from gridengine.options import fields as fold
from gridengine.options.option import Option

EXPLAIN_OPTIONS: tuple[Option, ...] = (
    Option("-help --help", "", "qexplain", fold.flag, "help", "print this help"),
    Option("-json", "", "qexplain", fold.flag, "json", "print JSON"),
)
