"""The `config` of a task is checked at the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from shepherd.config import ConfigError, parse_config, read_config, with_tmpdir
from tests.unit.shepherd.configuration import BASE, config


def test_defaults_and_unknown_keys() -> None:
    found = config(something_new=1)
    assert (found.slots, found.shell, found.umask, found.notify_s) == (1, "/bin/sh", 0o022, None)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "not a JSON object"),
        ({name: value for name, value in BASE.items() if name != "cwd"}, 'config has no "cwd"'),
        (BASE | {"job_id": "7"}, '"job_id" is not of type int'),
        (BASE | {"job_id": True}, '"job_id" is not of type int'),
        (BASE | {"binary": 1}, '"binary" is not of type bool'),
        (BASE | {"args": "a b"}, '"args" is not of type list[str]'),
        (BASE | {"environment": {"A": 1}}, '"environment" is not of type'),
        (BASE | {"limits": {"h_rt": "1:0:0"}}, '"limits" is not of type'),
        (BASE | {"uid": "alice"}, '"uid" is not of type int | None'),
        (BASE | {"shell_start_mode": "raw"}, 'unknown shell_start_mode "raw"'),
        (BASE | {"binary": True}, 'config has no "command"'),
        (BASE | {"script": None}, 'config has no "script"'),
    ],
)
def test_bad_configurations_are_named(data: object, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_config(data)
    assert problem in str(error.value)


def test_files_that_are_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't read .*: No such file"):
        read_config(tmp_path / "config")
    (tmp_path / "config").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        read_config(tmp_path / "config")


def test_another_scratch_directory_is_where_the_jobs_words_point() -> None:
    planned = config(tmpdir="/tmp/1.1.q", cwd="/tmp/1.1.q", environment={"PATH": "/bin:/tmp/1.1.q", "X": "/tmp/1.1.queue"})
    assert with_tmpdir(planned, "/tmp/1.1.q") is planned  # nothing is worked out again for nearly every job
    moved = with_tmpdir(planned, "/tmp/1.1.q-2")
    assert (moved.tmpdir, moved.cwd) == ("/tmp/1.1.q-2", "/tmp/1.1.q-2")
    assert moved.environment == {"PATH": "/bin:/tmp/1.1.q-2", "X": "/tmp/1.1.queue"}
