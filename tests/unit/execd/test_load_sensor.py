"""Load sensors: their permitted output, the running sensors, the hosts of their values."""

from __future__ import annotations

import asyncio
import dataclasses
from functools import partial
from pathlib import Path

import pytest

from daemons.execd.load import LoadReporter
from daemons.execd.load_sensor import MAX_LINES, Figures, ReportReader, SensorError
from daemons.execd.load_sensors import LoadSensors, SensorHostNames, configured_sensors, write_faults
from daemons.runtime.cell import Cell
from gridengine.protocols.protocol import SENSOR_FAULTS_FILE
from gridengine.state.configured.configuration import HostConfiguration
from tests.unit.execd.test_load import READING


def read(text: bytes) -> tuple[list[Figures], list[str]]:
    warnings: list[str] = []
    reader = ReportReader(lambda kind, text: warnings.append(text))
    return [report for line in text.splitlines() if (report := reader.feed(line)) is not None], warnings


@pytest.mark.statement("LS-2", "LS-3")
def test_a_report_of_several_hosts() -> None:
    lines = b"noise\nbegin\nh1:scratch:12G\nglobal:lic:3\nh1:t:1:30:00\n[fd88::1]:t:3\nend\nh1:late:1\nstart\nend\n"
    reports, warnings = read(lines)
    assert reports == [{"h1": {"scratch": "12G", "t": "1:30:00"}, "global": {"lic": "3"}, "[fd88::1]": {"t": "3"}}, {}]
    assert warnings == []


@pytest.mark.statement("LS-2")
@pytest.mark.parametrize("line", ["h1:scratch", "h1", "::", "h1::3", "two words:x:1", "h1:x:"])
def test_a_line_that_is_none_is_left_out(line: str) -> None:
    reports, warnings = read(f"begin\n{line}\nh1:good:1\nend\n".encode())
    assert reports == [{"h1": {"good": "1"}}]
    assert len(warnings) == 1 and line in warnings[0]


@pytest.mark.statement("LS-2")
@pytest.mark.parametrize("line", [b"\xff\xfe", b"h1:x:\x00\x01", "h1:x:\u0007".encode()])
def test_output_that_is_not_text_is_a_fault(line: bytes) -> None:
    with pytest.raises(SensorError, match="not text"):
        read(b"begin\n" + line + b"\nend\n")


@pytest.mark.statement("LS-2")
def test_a_flood_is_a_fault_from_one_question_to_the_next() -> None:
    reader = ReportReader(lambda kind, text: None)
    for _ in range(2):
        reader.asked()
        for _ in range(MAX_LINES):
            reader.feed(b"x")
    with pytest.raises(SensorError, match="more than"):
        reader.feed(b"x")


@pytest.mark.statement("LS-4")
def test_configured_and_automatic_sensors(tmp_path: Path) -> None:
    configuration = HostConfiguration.of({"load_sensor": "/a/one, /b/two,/a/one", "execd_params": "none"})
    assert configured_sensors(None, tmp_path) == []
    assert configured_sensors(configuration, tmp_path) == ["/a/one", "/b/two"]
    for name in ("qloadsensor", "qidle"):
        (tmp_path / name).touch()
    assert configured_sensors(configuration, tmp_path)[2:] == [str(tmp_path / "qloadsensor")]
    idle = HostConfiguration.of({"load_sensor": "none", "execd_params": "USE_QIDLE=true"})
    assert configured_sensors(idle, tmp_path) == [str(tmp_path / "qloadsensor"), str(tmp_path / "qidle")]


def names(host: str, **aliases: str) -> SensorHostNames:
    plain = {"root": Path("/"), "name": "c", "admin_user": "root"}
    spools = {"qmaster_spool_dir": Path("/"), "execd_spool_dir": Path("/"), "run_dir": Path("/")}
    return SensorHostNames(Cell(**plain, **spools, qmaster_port=1, ray_port=2, aliases=aliases), host)  # type: ignore[arg-type]


@pytest.mark.statement("LS-3", "GC-5")
def test_the_own_host_by_its_address_and_its_full_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "n1")
    monkeypatch.setattr("daemons.execd.load_sensors._own_addresses", lambda: ["10.88.0.14", "fd00::14"])
    known = names("n1", n1a="n1", other="n2")
    addresses = ("10.88.0.14", "fd00::14", "[FD00::14]", "::ffff:10.88.0.14")
    for name in ("n1", "N1", "n1a", "n1.example.org", "N1.Example.Org", *addresses):
        assert known.unique(name) == "n1"
    assert [known.unique(name) for name in ("n2", "n2.example.org", "10.88.0.15")] == ["n2", "n2.example.org", "10.88.0.15"]
    full = names("n1.example.org")
    assert full.unique("n1.elsewhere.org") == "n1.elsewhere.org"


@pytest.mark.statement("LS-3", "GC-5")
def test_the_own_host_by_any_of_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "machine.example.org")
    known = names("n1.example.org", n1a="n1.example.org", other="n2.example.org", machine="n1.example.org")
    for name in ("n1.example.org", "N1", "n1a", "machine", "machine.example.org"):
        assert known.unique(name) == "n1.example.org", name
    assert [known.unique(name) for name in ("other", "GLOBAL", "n3")] == ["n2.example.org", "global", "n3"]


@pytest.mark.statement("LS-3")
def test_reports_hold_what_is_new() -> None:
    expected: tuple[dict[str, str], dict[str, dict[str, str]]] = ({"scratch": "5G", "cpu": "1"}, {"global": {"lic": "3"}})
    readings = [READING, dataclasses.replace(READING, cpu_percent=50.0), READING]
    reporter = LoadReporter("boot", lambda: readings.pop(0), lambda: expected)
    first = reporter.full(1.0)
    assert (first.values["scratch"], first.values["cpu"], first.others) == ("5G", "1", {"global": {"lic": "3"}})
    assert first.values["num_proc"] == "2"
    expected = ({"scratch": "4G"}, {"global": {"lic": "2"}, "h9": {"up": "1"}})
    second = reporter.sensed(2.0)
    assert (second.values, second.others) == ({"scratch": "4G", "cpu": "13.200000"}, {"global": {"lic": "2"}, "h9": {"up": "1"}})
    expected = ({}, {"h9": {"up": "1"}})
    third = reporter.changes(3.0)
    assert (third.removed, third.others, third.others_removed) == (["scratch"], {}, {"global": ["lic"]})
    reporter.unknown_hosts(["h9"])
    assert reporter.sensed(4.0).others == {"h9": {"up": "1"}}


@pytest.mark.statement("LS-3")
def test_the_later_sensor_counts_and_unknown_hosts_are_its_fault(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async def start(path: str) -> asyncio.subprocess.Process:
            raise OSError(2, "no")

        sensors = LoadSensors(lambda: ["/a", "/b"], start, lambda: None)
        sensors.ask()
        first, second = sensors._sensors.values()
        first.figures, second.figures = {"h1": {"x": "1", "y": "1"}}, {"h1": {"x": "2"}, "h7": {"x": "1"}}
        assert sensors.figures() == {"h1": {"x": "2", "y": "1"}, "h7": {"x": "1"}}
        for _ in range(2):
            sensors.unknown_hosts(["h7", "h8"], str)
        await sensors.stop()

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == ["load sensor /b names hosts that are not exec hosts: h7"]


@pytest.mark.statement("LS-2")
def test_faults_of_sensors_are_noted_until_a_report_without_them(tmp_path: Path) -> None:
    async def run() -> None:
        async def start(path: str) -> asyncio.subprocess.Process:
            raise FileNotFoundError(2, "No such file or directory")

        sensors = LoadSensors(lambda: ["/a"], start, lambda: None, partial(write_faults, tmp_path))
        sensors.ask()
        noted = tmp_path / SENSOR_FAULTS_FILE
        assert noted.read_text() == ""
        async with asyncio.timeout(60):
            while not noted.read_text():
                await asyncio.sleep(0)
        assert noted.read_text() == "load sensor /a cannot be started: No such file or directory\n"
        [sensor] = sensors._sensors.values()
        sensor.take_report({})
        sensor.note_fault("line", "prints nonsense")
        sensor.note_fault("line", "prints nonsense")
        sensor.take_report({})
        assert noted.read_text() == "load sensor /a prints nonsense\n"
        sensor.take_report({})
        assert noted.read_text() == ""
        await sensors.stop()

    asyncio.run(run())
