"""`gridengine upgrade`: its order, its obstacles, and its continuation after a stop, in a cell of plain values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from clients import gdi
from clients.admin import upgrade
from clients.admin.cell import CellFiles, InstalledCell
from clients.admin.errors import AdminError
from clients.admin.installation import Installation
from clients.admin.upgrade import Upgrade
from tests.unit.admin.test_releases import built


class World:
    """A master with exec hosts and one shadow, all of release 1. `deaf`: hosts that ignore the request to restart."""

    def __init__(self, root: Path) -> None:
        for name in ("1", "2"):
            built(root / "prefix", name, "sge_qmaster")
        self.installation = Installation(root / "prefix" / "bin", root, root / "prefix")
        self.installation.releases().make_current("2")
        settings = {"run_dir": str(root), "qmaster_spool_dir": str(root), "execd_spool_dir": str(root), "admin_user": "root"}
        self.cell = InstalledCell(CellFiles(root, "c"), settings, "m")
        self.master: dict[str, Any] = {"release": "1", "protocol": 1, "spool": 2}
        self.hosts = [self.host("h1"), self.host("h2"), self.host("h3")]
        self.participants = {"s": {"release": "1", "installed": "2", "protocol": 1}}
        self.deaf: set[str] = set()
        self.steps: list[str] = []
        self.patience: dict[str, float] = {}

    @staticmethod
    def host(name: str) -> dict[str, Any]:
        known = {"host": name, "release": "1", "installed": "2", "protocol": 1, "up": True, "ready": True, "tasks": 1}
        return {**known, "refusal": "", "complaint": ""}

    def call(self, name: str, body: Any) -> gdi.Answer:
        if name == "restart_hosts":
            self.steps += body["hosts"]
            for row in self.hosts:
                if row["host"] in body["hosts"] and row["host"] not in self.deaf:
                    row["release"] = body["release"]
        return gdi.Answer(0, [], {"master": self.master, "hosts": self.hosts})

    def ask(self, _path: Path, name: str, fields: dict[str, Any], _patience_s: float) -> dict[str, Any]:
        if name == "status":
            return {"in_sync": ["s"]}
        if fields["restart"]:
            self.steps.append(fields["restart"])
            self.participants[fields["restart"]]["release"] = self.installation.releases().current().name
        return {"releases": self.participants}

    def restart_on_release(self, daemon: Any, *_: Any) -> None:
        self.steps.append(daemon.program)
        self.master["release"] = self.installation.releases().current().name

    def check_once(self, what: str, condition: Any, patience_s: float = 0.0, must: bool = True) -> None:
        """Check once: these tests do not wait."""
        self.patience[what] = patience_s
        if not condition() and must:
            raise AdminError(f"{what} is not back")

    def upgrade(self, *chosen: str, back: bool = False) -> Upgrade:
        return Upgrade(self.cell, self.installation, list(chosen), back)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setattr(upgrade.gdi, "call", made.call)
    monkeypatch.setattr(upgrade, "ask", made.ask)
    monkeypatch.setattr(upgrade, "restart_on_release", made.restart_on_release)
    monkeypatch.setattr(upgrade, "shadow_masters", lambda cell: ["m", "s"])
    monkeypatch.setattr(upgrade, "process_of", lambda daemon: daemon if daemon.program == "sge_qmaster" else None)
    monkeypatch.setattr(upgrade, "release_mismatch", lambda program, release: "")
    for name in ("BACK_S", "RECONNECT_S", "INSTALL_REPORT_S"):
        monkeypatch.setattr(upgrade, name, 0.0)
    monkeypatch.setattr(upgrade, "_until", made.check_once)
    return made


def test_shadows_come_first_then_the_master_then_one_exec_host_after_the_other(world: World) -> None:
    assert world.upgrade().problems() == []
    world.upgrade().run()
    assert world.steps == ["s", "sge_qmaster", "h1", "h2", "h3"]
    world.upgrade().run()
    assert len(world.steps) == 5, "what is of that release already is left alone"


def test_the_upgrade_stops_at_the_first_daemon_that_is_not_back_and_continues_there(world: World) -> None:
    world.deaf = {"h2"}
    with pytest.raises(AdminError, match="sge_execd of host h2 is not back"):
        world.upgrade().run()
    assert world.steps == ["s", "sge_qmaster", "h1", "h2"] and world.hosts[2]["release"] == "1"
    world.deaf = set()
    world.upgrade().run()
    assert world.steps[4:] == ["h2", "h3"]


def test_a_host_that_refuses_stops_it_with_its_reason(world: World) -> None:
    world.deaf, world.hosts[0]["refusal"] = {"h1"}, "does not go on as another release: no disk"
    with pytest.raises(AdminError, match="^host h1 does not go on as another release: no disk$"):
        world.upgrade().run()


def test_the_way_back_is_the_other_way_round(world: World) -> None:
    world.upgrade().run()
    world.steps.clear()
    world.installation.releases().make_current("1")
    for report in (*world.hosts, *world.participants.values()):
        report["installed"] = "1"
    world.upgrade(back=True).run()
    assert world.steps == ["h1", "h2", "h3", "sge_qmaster", "s"]


def test_hosts_that_are_chosen_are_the_only_ones_and_those_away_are_left_out(world: World) -> None:
    world.hosts[1]["up"] = False
    world.upgrade("h2", "h3").run()
    assert world.steps == ["s", "sge_qmaster", "h3"]
    assert world.upgrade("nosuch").problems() == ['"nosuch" is no exec host that the qmaster knows']


def test_a_host_that_does_not_come_back_to_the_master_is_no_host_that_was_away(world: World) -> None:
    """The daemon of the host goes on as the old release."""
    work = world.upgrade()
    world.hosts[0]["up"] = False
    with pytest.raises(AdminError, match="^host h1 has not come back to the master: gridengine upgrade continues when it has$"):
        work.run()
    assert world.steps == ["s", "sge_qmaster", "h2", "h3"]
    world.hosts[0]["up"] = True
    world.upgrade().run()
    assert world.steps[4:] == ["h1"]


def test_exec_hosts_have_twice_the_time_of_the_master(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    now, restart = [0.0], world.restart_on_release
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def slow(daemon: Any, *_: Any) -> None:
        restart(daemon)
        now[0] += 125.0

    monkeypatch.setattr(upgrade, "restart_on_release", slow)
    world.upgrade().run()
    assert world.patience["the exec hosts"] == 250.0


def test_daemons_of_before_are_named_after_all_others_are_done(world: World) -> None:
    world.hosts[0]["release"] = world.hosts[0]["installed"] = ""
    assert world.upgrade().problems() == []
    with pytest.raises(AdminError, match="^host h1: its daemon is from before versioned releases"):
        world.upgrade().run()
    assert world.steps == ["s", "sge_qmaster", "h2", "h3"]


def test_obstacles_are_reported_before_any_restart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.master["spool"] = 3
    world.hosts[0]["installed"] = "1"
    world.hosts[1]["protocol"] = 3
    monkeypatch.setattr(upgrade.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2**20}))
    found = world.upgrade().problems()
    assert [text[:45] for text in found] == [
        "release 2 reads spools of versions up to 2, a",
        f"the disk of {world.cell.qmaster_spool_dir}/spool.db"[:45],
        "host h1 has 1 installed, not 2: install that ",
        "host h2 runs 1 of protocol 3, 2 has 1: upgrad",
    ]


def test_back_is_refused_when_the_older_release_cannot_read_the_spool(world: World) -> None:
    world.master["spool"] = 3
    with pytest.raises(AdminError, match="release 1 reads spools of versions up to 2.*no way back"):
        upgrade.use_previous_release(world.installation)
    assert world.installation.releases().current().name == "2"
    world.master["spool"] = 2
    upgrade.use_previous_release(world.installation)
    assert world.installation.releases().current().name == "1"


def test_the_table_has_a_line_for_each_daemon(world: World) -> None:
    lines = [line.split() for line in world.upgrade().table()]
    assert [line[:4] for line in lines[1:]] == [
        ["m", "sge_qmaster", "1", "2"],
        ["s", "sge_shadowd", "1", "2"],
        *(["h" + number, "sge_execd", "1", "2"] for number in "123"),
    ]


def test_to_a_release_of_before_daemons_are_not_sent(world: World) -> None:
    facts = world.installation.releases().prefix / "current" / "release.json"
    facts.write_text(facts.read_text().replace('"protocol": 1', '"protocol": 0'))
    assert [text[:47] for text in world.upgrade().problems()] == ["release 2 is from before in-place upgrades: grid"[:47]]


def test_an_older_release_is_used_only_on_request(world: World) -> None:
    for name, date in (("1", 1_800_000_000), ("2", 1_700_000_000)):
        facts = world.installation.releases().prefix / "releases" / name / "release.json"
        facts.write_text(facts.read_text().replace('"date": 0', f'"date": {date}'))
    (problem,) = world.upgrade().problems()
    assert problem.startswith("release 2 of 2023-11-14 22:13 UTC is older than 1 of 2027-01-15 08:00 UTC, which the cell runs: ")
    assert "gridengine upgrade --older" in problem
    assert world.upgrade(back=True).problems() == []
    assert world.upgrade().dates() == ["release 1 of 2027-01-15 08:00 UTC", "release 2 of 2023-11-14 22:13 UTC"]
    world.upgrade(back=True).run()
    assert world.steps == ["h1", "h2", "h3", "sge_qmaster", "s"]
