"""Load sensors as processes: correct sensors, and each kind of faulty sensor."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import shutil
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import psutil
import pytest

from daemons.execd import load_sensor as module
from daemons.execd.load_sensor import Figures, LoadSensor, start_process
from daemons.execd.load_sensors import sensor_starter
from daemons.execd.site import HostSite
from daemons.runtime.cell import Cell
from tests import needs
from tests.integration.cells import PATIENCE_S
from tests.integration.debian import need

GOOD = 'while read x; do [ "$x" = quit ] && exit 0; echo begin; echo "h1:v:%s"; echo end; done'
USER = "nobody"


@pytest.fixture
def sensor() -> Iterator[Path]:
    """Where all users may look; pytest's own directories are closed again by the next session that starts."""
    directory = Path(tempfile.mkdtemp(prefix="ge-sensor-"))
    directory.chmod(0o755)
    yield directory / "sensor"
    shutil.rmtree(directory)


def write(path: Path, body: str) -> None:
    """By rename, as an administrator should."""
    new = path.with_suffix(".new")
    new.write_text(f"#!/bin/sh\n{body}\n")
    new.chmod(0o755)
    new.rename(path)


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def play(sensor: Path, scene: Callable[[LoadSensor], Awaitable[None]], patience_s: float = PATIENCE_S) -> None:
    """Run a sensor while the scene lasts."""
    user = USER if os.geteuid() == 0 else psutil.Process().username()

    async def run() -> None:
        start = lambda path: start_process(path, user, {"PATH": os.environ["PATH"]})  # noqa: E731
        subject = LoadSensor(str(sensor), start, lambda: None, patience_s, first_pause_s=0.05)
        running = asyncio.get_running_loop().create_task(subject.run())
        try:
            await scene(subject)
        finally:
            running.cancel()
            assert (await asyncio.wait([running], timeout=PATIENCE_S))[0]
            await until(lambda: processes(sensor) == [])

    asyncio.run(run())


def processes(sensor: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if str(sensor) in (process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Log lines on the sensor; asyncio may warn of a child that was reaped elsewhere."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("daemons.")]


def value(subject: LoadSensor) -> str:
    return subject.figures.get("h1", {}).get("v", "")


@pytest.mark.statement("LS-2")
def test_each_question_is_answered_as_the_admin_user(sensor: Path) -> None:
    write(sensor, 'n=0; while read x; do n=$((n+1)); printf "begin\\nh1:v:$n\\nglobal:who:$(id -un)\\nend\\n"; done')

    async def scene(subject: LoadSensor) -> None:
        await until(lambda: value(subject) == "1")
        subject.ask()
        await until(lambda: value(subject) == "2")
        assert os.geteuid() != 0 or subject.figures["global"] == {"who": USER}

    play(sensor, scene)


@pytest.mark.statement("LS-2")
def test_quit_is_sent_at_the_end(sensor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIT_S", PATIENCE_S)
    values = sensor.with_name("said")
    values.touch()
    values.chmod(0o666)
    write(sensor, f'while read x; do echo "$x" >>{values}; [ "$x" = quit ] && exit; printf "begin\\nend\\n"; done')

    async def scene(subject: LoadSensor) -> None:
        await until(lambda: values.read_text() == "\n")

    play(sensor, scene)
    assert values.read_text() == "\nquit\n"


@pytest.mark.statement("LS-4")
def test_a_sensor_is_started_again_when_it_dies_and_when_it_is_replaced(sensor: Path) -> None:
    write(sensor, GOOD % 1)

    async def scene(subject: LoadSensor) -> None:
        await until(lambda: value(subject) == "1")
        [process] = processes(sensor)
        process.send_signal(signal.SIGKILL)
        await until(lambda: bool(processes(sensor)) and processes(sensor) != [process])
        assert value(subject) == "1"
        write(sensor, GOOD % 2)
        subject.ask()
        await until(lambda: value(subject) == "2")

    play(sensor, scene)


BAD = {
    "hangs": ("read x; sleep 1000", "has not answered for {patience:g} s"),
    "never reads": ("sleep 1000", "has not answered for {patience:g} s"),
    "floods": ("yes", f"prints more than {module.MAX_LINES} lines at once"),
    "one endless line": ("cat /dev/zero", f"prints a line of more than {module.MAX_LINE_BYTES} bytes"),
    "binary": ("head -c 4000 /dev/urandom; echo; sleep 1000", "prints something that is not text"),
    "dies at once": ("exit 3", "ended with status 3"),
    "closes its output": ("exec >&-; sleep 1000", "has closed its output"),
    "is no program": (None, "cannot be started: it is not an executable file"),
    "has no interpreter": ("#!", "ended with status 126"),
}


@pytest.mark.statement("LS-2", "LS-4")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_sensor_is_logged_once_with_its_path_and_started_again(
    sensor: Path, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, warning = BAD[name]
    monkeypatch.setattr(module, "_STATUS_S", PATIENCE_S if "ended" in warning else 0.2)
    patience = 0.5 if "answered" in warning else PATIENCE_S
    warning = warning.format(patience=patience)
    starts: list[str] = []
    if body is None:
        sensor.write_text("hello")
    elif body == "#!":
        sensor.write_text("#!/no/such/interpreter\n")
        sensor.chmod(0o755)
    else:
        write(sensor, body)
    caplog.set_level(logging.WARNING)

    async def scene(subject: LoadSensor) -> None:
        converse = subject._converse

        async def counted() -> str:
            starts.append(name)
            return await converse()

        subject._converse = counted  # type: ignore[method-assign]
        await until(lambda: len(starts) >= 2)
        assert subject.figures == {}

    play(sensor, scene, patience)
    assert warnings(caplog) == [f"load sensor {sensor} {warning}"]


@pytest.mark.statement("LS-4")
def test_a_bad_sensor_is_logged_again_when_it_was_replaced(
    sensor: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STATUS_S", PATIENCE_S)
    write(sensor, "exit 3")

    async def scene(subject: LoadSensor) -> None:
        await until(lambda: len(warnings(caplog)) == 1)
        write(sensor, "exit 4")
        subject.ask()
        await until(lambda: len(warnings(caplog)) == 2)
        write(sensor, GOOD % 7)
        subject.ask()
        await until(lambda: value(subject) == "7")

    play(sensor, scene)


@pytest.mark.statement("LS-2", "EX-9")
def test_a_sensor_ends_with_the_process_that_started_it(sensor: Path) -> None:
    write(sensor, "read x; sleep 1000 & wait; sleep 1000")
    program = (
        "import asyncio, sys\n"
        "from daemons.execd.load_sensor import LoadSensor, start_process\n"
        "start = lambda path: start_process(path, sys.argv[2], {})\n"
        "asyncio.run(LoadSensor(sys.argv[1], start, lambda: None).run())\n"
    )

    async def scene() -> None:
        user = psutil.Process().username()
        parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(sensor), user)
        await until(lambda: any("/bin/sh" in process.cmdline() for process in processes(sensor)))
        parent.kill()
        await parent.wait()
        await until(lambda: processes(sensor) == [])

    asyncio.run(scene())


@pytest.mark.statement("LS-2", "LS-3")
@pytest.mark.parametrize("language", ["sh", "python", "perl"])
def test_any_language_will_do(sensor: Path, language: str) -> None:
    need({"python": "python3"}.get(language, language))
    python = "import sys\nfor line in sys.stdin:\n    print('begin\\nh1:v:5\\nend', flush=True)\n"
    perl = "$| = 1;\nwhile (<STDIN>) { print qq(begin\\nh1:v:5\\nend\\n); }\n"
    text = {
        "sh": f"#!/bin/sh\n{GOOD % 5}\n",
        "python": f"#!/usr/bin/env python3\n{python}",
        "perl": f"#!/usr/bin/env perl\n{perl}",
    }
    sensor.write_text(text[language])
    sensor.chmod(0o755)
    figures: list[Figures] = []

    async def scene(subject: LoadSensor) -> None:
        await until(lambda: value(subject) == "5")
        figures.append(subject.figures)

    play(sensor, scene)
    assert figures == [{"h1": {"v": "5"}}]


@pytest.mark.statement("LS-4")
@needs.root
def test_a_sensor_of_another_user_has_nothing_of_root(sensor: Path) -> None:
    seen = sensor.parent / "seen"
    seen.touch()
    seen.chmod(0o666)
    write(sensor, f'{{ echo "$(id -u):$(id -G)"; env; }} > {seen}; {GOOD % 1}')
    place = sensor.parent
    cell = Cell(place, "default", USER, place, place, place, 0, 0)
    site = HostSite("h1", str(place), "default", place, {"PATH": os.environ["PATH"], "OF_ROOT": "secret", "TZ": "UTC"})

    async def run() -> None:
        process = await sensor_starter(cell, site)(str(sensor))
        await process.communicate(b"\nquit\n")

    asyncio.run(run())
    ids, *variables = seen.read_text().splitlines()
    entry = pwd.getpwnam(USER)
    assert ids == f"{entry.pw_uid}:{' '.join(map(str, os.getgrouplist(USER, entry.pw_gid)))}"
    assert {"SGE_HOST=h1", "TZ=UTC", f"HOME={entry.pw_dir}"} <= set(variables)
    assert "OF_ROOT=secret" not in variables
