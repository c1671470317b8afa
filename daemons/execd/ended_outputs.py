"""The output files of the last tasks that ended here, so that their owners can still read them: the task's `config`, in memory.

Owns how many are kept; a daemon that restarts knows of none. Called by `tasks` and `output_reader`. Source: adr/0138.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gridengine.protocols.task_file import CONFIG, read_stored_config
from gridengine.values.task_key import SlaveKey, TaskKey

MAX_TASKS = 200
MAX_CONFIG_BYTES = 64 * 1024
"""Bytes of one `config`, with the task's environment."""


class EndedOutputs:
    """By job and task: the `config` of the last attempt."""

    def __init__(self) -> None:
        self._configs: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def note(self, key: TaskKey, directory: Path) -> None:
        """The task has ended, and its directory is about to be removed."""
        try:
            config = b"" if isinstance(key, SlaveKey) else read_stored_config(lambda name: (directory / name).read_bytes())
        except OSError:
            return
        if 0 < len(config) <= MAX_CONFIG_BYTES:
            self._configs[key.job, key.task] = config
            self._configs.move_to_end((key.job, key.task))
        if len(self._configs) > MAX_TASKS:
            self._configs.popitem(last=False)

    def __contains__(self, key: TaskKey) -> bool:
        return (key.job, key.task) in self._configs

    @contextmanager
    def directory(self, key: TaskKey) -> Iterator[Path]:
        """A directory of root with the `config`, without the task's environment, while its output is read."""
        content = json.loads(self._configs[key.job, key.task])
        with TemporaryDirectory(prefix="ended-task-") as name:
            (Path(name) / CONFIG).write_text(json.dumps({**content, "environment": {}, "method_environment": {}}))
            yield Path(name)
