"""The actions of qconf. A module is loaded at its first use: a call of qconf needs few modules.

Type checkers see plain imports, so `make types` finds the name of a module or function that does not exist.
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
