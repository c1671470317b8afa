"""The configuration of a new cell: read once, when the spool is empty, from `common/initial-config`.

Owns that first transaction. The files are in the syntax that qconf prints, one object a file, sorted into a directory
per kind; `gridengine init` writes them.
"""

from __future__ import annotations

from pathlib import Path

from daemons.qmaster.decision import Decision
from daemons.qmaster.master import DAEMON, Master
from gridengine.config.sample_cell import read_cell
from gridengine.state.machines.configuration import ObjectSet


def load_initial_configuration(master: Master, directory: Path) -> None:
    """Make the first transaction of a cell. Raises ConfigError for a file that is wrong."""
    texts = {
        str(path.relative_to(directory)): path.read_text() for path in sorted(directory.rglob("*")) if path.is_file()
    }
    events = [ObjectSet(kind, model.object_name, model.attributes()) for kind, model in read_cell(texts)]
    master.record(Decision(events=list(events)), DAEMON)
    master.flush()
