"""The configuration of a task, as its shepherd reads it from `config`, and values derived from it.

Called once by each shepherd. Opens only that file; `gridengine.protocols.task_file` owns its format.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridengine.protocols.task_file import CONFIG, MAX_LIMIT, Number, TaskConfig, TaskFileError, decode, read_stored_config
from shepherd import task_files

# The interfaces of checkpoint(5) that use commands; jobs of the other interfaces get a signal.
WITH_CKPT_COMMANDS = ("application-level", "hibernator", "cpr")


def total_limit(config: TaskConfig, name: str) -> Number | None:
    """A limit on the sum over all processes of the task on this host, which its slots multiply (RL-4, RL-5)."""
    limit = config.limits.get(name)
    return None if limit is None else min(limit * (1 if name in config.per_job_limits else config.slots), MAX_LIMIT)


def with_tmpdir(config: TaskConfig, tmpdir: str) -> TaskConfig:
    """The configuration of a task whose scratch directory has another name: paths of it, or of files in it, are replaced."""
    if config.tmpdir is None or config.tmpdir == tmpdir:
        return config
    old = re.compile(rf"(?<![^:]){re.escape(config.tmpdir)}(?=[/:]|$)")

    def moved(text: str | None) -> str | None:
        return None if text is None else old.sub(lambda _: tmpdir, text)

    changes: dict[str, Any] = {"tmpdir": tmpdir}
    for name in ("cwd", "stdin", "stdout", "stderr", "pe_stdout", "pe_stderr"):
        changes[name] = moved(getattr(config, name))
    for name in ("environment", "method_environment", "variables"):
        changes[name] = {key: moved(value) for key, value in getattr(config, name).items()}
    return replace(config, **changes)


def read_config(directory: Path) -> TaskConfig:
    """Read the `config` of the task in `directory`. Raises TaskFileError for any fault of it."""
    try:
        return decode(read_stored_config(lambda name: task_files.content(directory / name)))
    except OSError as error:
        raise TaskFileError(f"can't read {directory / CONFIG}: {error.strerror}") from error
