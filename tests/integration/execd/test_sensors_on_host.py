"""Load sensors of a real exec host: from the live configuration, into load reports, and gone with the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.cells import PATIENCE_S, eventually
from tests.integration.execd.exec_host import CONFIGURATION, HOST, ExecHost

SENSOR = """#!/bin/sh
while read x; do
    [ "$x" = quit ] && exit 0
    printf 'begin\\n%s:v:%s\\nglobal:lic:3\\nend\\n' "$SGE_HOST" "$(cat VALUE)"
done
"""


@pytest.fixture(scope="module")
def host() -> Iterator[ExecHost]:
    place = ExecHost()
    try:
        place.start_master()
        place.start_execd()
        configure(place)
        yield place
    finally:
        place.remove()


def write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o755)
    new.rename(path)


def configure(host: ExecHost, *sensors: Path) -> None:
    names = ",".join(map(str, sensors)) or "none"
    host.deliver({"type": "configure", "configuration": {**CONFIGURATION, "load_report_time": "0:0:1", "load_sensor": names}})


def reported(host: ExecHost, name: str) -> list[str]:
    """The values of a load value in the reports, in order; "" where the reports remove it."""
    found = []
    for report in host.reports("load"):
        if name in report.get("values", {}):
            found.append(report["values"][name])
        elif name in report.get("removed", ()) or (report.get("full") and found and found[-1]):
            found.append("")
    return found


@pytest.mark.statement("LS-2", "LS-3", "LS-4", "GC-2")
def test_a_sensor_from_the_live_configuration(host: ExecHost) -> None:
    sensor, value = host.place / "sensor", host.place / "value"
    write(value, "1")
    write(sensor, SENSOR.replace("VALUE", str(value)))
    configure(host, sensor)
    eventually("the value is reported", lambda: "1" in reported(host, "v"))
    assert any(report.get("others") == {"global": {"lic": "3"}} for report in host.reports("load"))
    write(value, "2")
    eventually("and its change", lambda: reported(host, "v")[-1:] == ["2"])
    write(sensor, SENSOR.replace("VALUE", str(value)).replace("lic:3", "lic:4"))
    eventually("a replaced sensor", lambda: any(r.get("others") == {"global": {"lic": "4"}} for r in host.reports("load")))
    eventually("only that one runs", lambda: len(host.find(str(sensor))) == 1)
    configure(host)
    eventually("it ends", lambda: not host.find(str(sensor)))
    eventually("its values cease", lambda: reported(host, "v")[-1:] == [""])


def is_another(found: list[psutil.Process], before: list[psutil.Process]) -> bool:
    return len(found) == 1 and found[0] not in before


@pytest.mark.statement("LS-4", "EX-9")
def test_qloadsensor_runs_unasked_and_ends_with_the_daemon(host: ExecHost) -> None:
    sensor, value = host.place / "default" / "common" / "qloadsensor", host.place / "value"
    write(value, "5")
    write(sensor, SENSOR.replace("VALUE", str(value)))
    eventually("the value is reported", lambda: reported(host, "v")[-1:] == ["5"])
    before = host.find(str(sensor))
    host.kill("ray::ExecdActor")
    eventually("a new actor starts its own", lambda: is_another(host.find(str(sensor)), before))
    assert host.execd is not None
    host.execd.terminate()
    host.execd.wait(PATIENCE_S)
    eventually("nothing is left", lambda: not host.find(str(sensor)))
    assert HOST in str(host.spool)
