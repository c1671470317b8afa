"""What qconf carries out. A module of it is loaded when it is first asked for: a call of qconf needs one or two of them.

Type checkers see plain imports, so that the name of a module or function that is not there is found by `make types`.
"""

import sys

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from clients.configure import attributes as attributes
    from clients.configure import change as change
    from clients.configure import daemons as daemons
    from clients.configure import share_tree as share_tree
    from clients.configure import show as show
else:
    _MODULES = frozenset(("attributes", "change", "daemons", "share_tree", "show"))

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
