"""The tasks of a host while other tasks come and go, with a launcher that answers at once."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from daemons.execd import tasks as module
from daemons.execd.attempt_log import AttemptLog
from daemons.execd.cgroups import HostCgroups
from daemons.execd.resource_assignment import ResourceAssigner
from daemons.execd.site import HostSite, prepare_spool
from daemons.execd.tasks import Tasks
from gridengine.errors import UnavailableError
from gridengine.protocols.delivery import Acknowledgement, Forget, Signal, Start
from gridengine.values.task_key import TaskKey
from gridengine.values.topology import Topology
from tests.unit.execd.instructions import configuration, start


class Host:
    """Tasks whose launcher notes its requests; `script` adds the script of their job to instructions."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.site = HostSite("g1", "/opt/ge", "default", place / "spool")
        prepare_spool(self.site.spool)
        self._patch = monkeypatch
        self.signalled: list[tuple[str, str]] = []
        self.cgroups = HostCgroups()
        self.restart()

    def restart(self) -> None:
        """kill -9 of the actor."""
        self.attempt_log = AttemptLog(self.site.spool / "tries", 1)
        assigner = ResourceAssigner(Topology.of([(0, 0, 0)]), {0}, lambda pid: self.cgroups)
        self.tasks = Tasks(self.site, self.attempt_log, lambda *_: None, assigner, lambda: None)
        self.tasks.configuration = configuration()
        self._patch.setattr(self.tasks.launcher, "start", self._started)
        self._patch.setattr(self.tasks.launcher, "signal", self._signalled)

    async def _started(self, directory: str, shepherd_cmd: str | None = None, owner: str = "") -> None:
        self.signalled.append((Path(directory).name, "start"))

    async def _signalled(self, directory: str, command: str) -> bool:
        self.signalled.append((Path(directory).name, command))
        return False

    async def start(self, instruction: Start, revision: int = 0, script: bytes | None = None) -> Acknowledgement:
        return await self.tasks.start(instruction, (1, revision), script)

    @property
    def started(self) -> list[str]:
        return [name for name, command in self.signalled if command == "start"]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def mine(**changes: object) -> Start:
    """A start of a job of the user of the tests."""
    user = pwd.getpwuid(os.geteuid())
    job = {"owner": user.pw_name, "binary": True, "script_file": "/bin/true", "cwd": "/"}
    return start(job, submit_time=1.0, **changes)  # type: ignore[arg-type]


def play(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scene())  # type: ignore[arg-type]


@pytest.mark.statement("QF-34")
def test_a_task_that_ends_while_others_get_the_command_does_not_stop_the_shutdown(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        for task_id in (1, 2):
            await host.start(mine(task_id=task_id))
        host.signalled.clear()

        async def all_end(directory: str, command: str) -> bool:
            host.signalled.append((Path(directory).name, command))
            host.tasks.acknowledged(list(host.tasks.directories))
            return True

        monkeypatch.setattr(host.tasks.launcher, "signal", all_end)
        await host.tasks.end_all(5)

    play(scene)
    assert host.signalled == [("12.1", "shutdown")]
    assert not host.tasks.directories


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("restarted", [False, True])
def test_an_attempt_that_ended_here_does_not_start_again(host: Host, restarted: bool) -> None:
    """The start that waited while the end of its attempt was handed over, and a start that comes after a restart of the actor."""

    async def scene() -> None:
        assert (await host.start(mine())).ok and (await host.start(mine())).ok
        host.tasks.acknowledged([mine().key])
        if restarted:
            host.restart()
        assert await host.start(mine()) == Acknowledgement(False, over=True)

    play(scene)
    assert host.started == ["12.1", "12.1"], "the second of these found it there"
    assert not any(host.site.active_jobs.iterdir())


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("over", [False, True])
def test_a_delayed_start_does_not_disturb_the_attempt_after_it(host: Host, over: bool) -> None:
    later = mine()
    earlier = msgspec.structs.replace(later, key=TaskKey(later.key.job, later.key.task, later.key.attempt - 1))

    async def scene() -> None:
        assert (await host.start(later)).ok
        if over:
            host.tasks.acknowledged([later.key])
        host.restart()
        host.signalled.clear()
        await host.tasks.remove_earlier_attempts(earlier)
        assert await host.start(earlier) == Acknowledgement(False, over=True)

    play(scene)
    assert host.signalled == []
    assert list(host.tasks.directories) == ([] if over else [later.key])


@pytest.mark.statement("EX-9")
def test_an_attempt_that_was_forgotten_does_not_start_again(host: Host) -> None:
    async def scene() -> None:
        await host.start(mine())
        await host.tasks.forget(Forget(mine().key))
        assert (await host.start(mine())).over

    play(scene)


def test_a_start_that_was_overtaken_is_computed_again(host: Host) -> None:
    async def scene() -> None:
        assert host.attempt_log.obey((1, 5))
        with pytest.raises(UnavailableError):
            await host.start(mine(), revision=4)
        assert (await host.start(mine(), revision=5)).ok

    play(scene)


def test_a_task_that_the_launcher_refuses_has_not_started(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(directory: str, shepherd_cmd: str | None = None, owner: str = "") -> None:
        raise ValueError("can't fork a shepherd")

    async def scene() -> None:
        with monkeypatch.context() as full:
            full.setattr(host.tasks.launcher, "start", refuse)
            assert (await host.start(mine())).failed
        assert (await host.start(mine())).ok, "the same try, when the answer was lost"

    play(scene)


@pytest.mark.statement("QC-21")
def test_a_script_comes_once_for_all_tasks_of_a_job(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(task_id: int) -> Start:
        instruction = mine(task_id=task_id, script=True)
        instruction.job.binary = False
        return instruction

    async def scene() -> None:
        assert await host.start(of(1)) == Acknowledgement(False, needs_script=True)
        assert (await host.start(of(1), script=b"true\n")).ok and (await host.start(of(2))).ok
        host.tasks.acknowledged([of(1).key, of(2).key])
        assert (await host.start(of(3))).ok, "it is kept for a moment"
        monkeypatch.setattr(module, "SCRIPT_KEPT_S", 0)
        host.tasks.acknowledged([of(3).key])
        for _ in range(3):
            await asyncio.sleep(0)

    monkeypatch.setattr(module, "SCRIPT_KEPT_S", 600.0)
    script = host.site.job_scripts / "12"
    play(scene)
    assert not script.exists()
    assert host.started == ["12.1", "12.2", "12.3"]


def test_a_failed_preparation_leaves_nothing_behind(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any failure of an instruction its cores are free again."""
    released: list[TaskKey] = []
    monkeypatch.setattr(module.active_jobs, "create", lambda *_: 1 // 0)
    monkeypatch.setattr(host.tasks._assigner, "release", released.append)

    async def scene() -> None:
        with pytest.raises(ZeroDivisionError):
            await host.start(mine())

    play(scene)
    assert released == [mine().key] and not host.tasks.directories


@pytest.mark.statement("QC-27", "GC-4")
@pytest.mark.parametrize("ends", [True, False])
def test_a_method_that_failed_is_logged_soon_after_the_command_or_with_the_end(
    host: Host, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ends: bool
) -> None:
    monkeypatch.setattr(module, "METHOD_S", 3600.0 if ends else 0.0)

    async def scene() -> None:
        instruction = mine()
        await host.start(instruction)
        await host.tasks.signal(Signal(instruction.key, "suspend"))
        directory = host.tasks.directories[instruction.key]
        (directory / "faults").write_text("can't execute suspend_method /x: no such file\n")
        if ends:
            (directory / "exit").write_text('{"failed": 0, "exit_status": 0}')
            host.tasks.find_ends()
        await asyncio.sleep(0.01)

    play(scene)
    warnings = [record.getMessage() for record in caplog.records if "suspend_method" in record.getMessage()]
    assert len(warnings) == 1
    assert warnings[0].endswith("can't execute suspend_method /x: no such file")
