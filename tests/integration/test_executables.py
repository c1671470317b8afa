"""Files without an interpreter line run as execvp(3) runs them, wherever the product executes a file."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from gridengine.files import executables


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "s"
    file.write_text('echo "$#:$1" >"$0.out"\nexit 4\n')
    file.chmod(0o755)
    return file


def _output(script: Path) -> str:
    return script.with_name("s.out").read_text()


@pytest.mark.parametrize("name", ["path", "looked up"])
def test_a_process_becomes_a_script_without_an_interpreter(script: Path, name: str) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            executables.execute(str(script) if name == "path" else "s", ["s", "a b"], {"PATH": f"/bin:{script.parent}"})
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    assert _output(script) == "1:a b\n"


@pytest.mark.parametrize("name", ["path", "looked up"])
def test_a_process_is_started_from_a_script_without_an_interpreter(
    script: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"/bin:{script.parent}")
    arguments = [str(script) if name == "path" else "s", "a b"]
    assert executables.start(subprocess.Popen, arguments).wait() == 4
    assert os.waitstatus_to_exitcode(os.waitpid(executables.spawn(arguments), 0)[1]) == 4

    async def begun() -> int:
        process = await executables.start_soon(lambda argv: asyncio.create_subprocess_exec(*argv), arguments)
        return await process.wait()

    assert asyncio.run(begun()) == 4
    assert _output(script) == "1:a b\n"


def test_a_missing_file_raises_file_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        executables.start(subprocess.Popen, [f"{tmp_path}/none"])
    with pytest.raises(FileNotFoundError):
        executables.execute(f"{tmp_path}/none", ["none"], {})
