"""The order of queue instances by a site's own function, for the parallel jobs of an environment.

Owns the loading of these functions. The functions run inside the scheduler, so only managers name them, in `qsort_args` of
a PE: `/absolute/path.py function [argument …]`. The function is called as `function(instances, arguments)` with names
`queue@host` in the scheduler's order and returns the names that may be used, in its own order; `$complex` in an argument is
replaced by the job's request for it, "" if there is none. If a function fails the order stays, and the error is logged
once. Called by `daemons.schedd.categories`. Source: sge_pe(5) qsort_args, PE-16.
Deviation: a Python file instead of a C library, as this is a Python system.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType

from daemons.runtime.log_once import LogOnce
from gridengine.placement.placement_request import Request
from gridengine.state.configured.objects import ParallelEnvironment

_log = logging.getLogger(__name__)

_loaded: dict[str, tuple[int, ModuleType]] = {}
_logged = LogOnce()


def site_order(pe: ParallelEnvironment, request: Request, instances: list[str]) -> list[str]:
    """The instances in the order of the PE's function; unchanged if it has none or it fails."""
    if not pe.qsort_args:
        return instances
    path, name, *arguments = pe.qsort_args
    requested = {demand.name: demand.text for demand in request.hard}
    given = [requested.get(text[1:], "") if text.startswith("$") else text for text in arguments]
    try:
        chosen = _function(path, name)(list(instances), given)
        known = set(instances)
        return [instance for instance in dict.fromkeys(chosen) if instance in known]
    except Exception as error:  # noqa: BLE001 - a site's code may do anything, and must not stop the scheduler
        text = f"qsort_args of parallel environment {pe.name}: {path} {name}: {type(error).__name__}: {error}"
        if _logged.is_new(text, text):
            _log.error("%s", text)
        return instances


def _function(path: str, name: str) -> Callable[[list[str], list[str]], Sequence[str]]:
    """The function, loaded again if its file has changed."""
    changed = os.stat(path).st_mtime_ns
    known = _loaded.get(path)
    if known is None or known[0] != changed:
        module = ModuleType("qsort_args")
        module.__file__ = path
        SourceFileLoader(module.__name__, path).exec_module(module)
        known = _loaded[path] = changed, module
    function: Callable[[list[str], list[str]], Sequence[str]] = getattr(known[1], name)
    return function
