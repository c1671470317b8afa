"""Clusters made of a parallel job: which Python, which slots, and a secret for each, that no command line shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clients.admin.clusters import commands, node
from clients.admin.clusters.head import ClusterError, hosts_of_job
from clients.admin.clusters.kinds import KINDS, ClusterHost, ClusterPlan
from clients.admin.errors import AdminError
from tests import needs

HOSTS = [ClusterHost("t1", 2), ClusterHost("t2", 3)]


@pytest.fixture(params=sorted(KINDS))
def clusters(request: pytest.FixtureRequest) -> list[ClusterPlan]:
    """Two clusters of a kind on the same hosts."""
    return [KINDS[request.param]("/usr/bin/python3", HOSTS, "192.0.2.1", [1, 2, 3], "/tmp/r") for _ in range(2)]


@pytest.mark.statement("TI-1")
def test_a_secret_is_of_one_cluster_and_on_no_command_line(clusters: list[ClusterPlan]) -> None:
    first, second = clusters
    assert first.files != second.files
    parts = [*first.daemons, *first.others]
    assert all(part["files"] == first.files for part in parts)
    arguments = " ".join(argument for part in parts for argument in (*part["command"], *part["environment"].values()))
    assert not any(secret.strip() in arguments for secret in first.files.values())


def test_each_host_gives_its_slots(clusters: list[ClusterPlan]) -> None:
    plan = clusters[0]
    assert [slots for part in plan.daemons for slots in _slots(part["command"])] == ["2"]
    assert [slots for part in plan.others for slots in _slots(part["command"])] == ["3"]


def test_rays_directory_lies_in_one_that_the_user_alone_enters(clusters: list[ClusterPlan]) -> None:
    """Ray makes its session directory writable for all users."""
    for part in (*clusters[0].daemons, *clusters[0].others):
        for argument in part["command"]:
            if argument.startswith("--temp-dir="):
                assert argument == "--temp-dir=/tmp/r/s"
                assert part["closed"] == ["/tmp/r"]
    assert {part["closed"] == part["remove"] for part in (*clusters[0].daemons, *clusters[0].others)} == {True}


@needs.root
def test_a_closed_directory_is_made_for_the_user_alone_or_the_cluster_fails(tmp_path: Path) -> None:
    place = tmp_path / "r"
    node.make_closed(str(place))
    node.make_closed(str(place))  # the head has made it before the first tries fail
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o755)
    with pytest.raises(PermissionError, match="no closed directory of this user"):
        node.make_closed(str(place))
    place.chmod(0o700)
    os.chown(place, 1, 1)
    with pytest.raises(PermissionError, match="no closed directory of this user"):
        node.make_closed(str(place))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="no closed directory of this user"):
        node.make_closed(str(tmp_path / "link"))


def _slots(command: list[str]) -> list[str]:
    return [argument.partition("=")[2] for argument in command if argument.startswith(("--num-cpus=", "--nworkers="))]


def test_hosts_are_those_of_the_pe_hostfile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hosts").write_text("t2 2 all.q@t2 <NULL>\nt1 1 all.q@t1 <NULL>\nt2 3 b.q@t2 <NULL>\n")
    monkeypatch.setenv("PE_HOSTFILE", str(tmp_path / "hosts"))
    assert hosts_of_job() == [ClusterHost("t2", 5), ClusterHost("t1", 1)]
    monkeypatch.delenv("PE_HOSTFILE")
    with pytest.raises(ClusterError, match="no parallel job"):
        hosts_of_job()


@pytest.mark.parametrize(("own", "kind", "taken"), [(True, "ray", "own"), (False, "ray", "installed"), (True, "dask", "own")])
def test_the_users_python_comes_first(own: bool, kind: str, taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_has", lambda python, module: own or python == "/installed/python")
    monkeypatch.setattr(commands.sys, "executable", "/installed/python")
    monkeypatch.setattr(commands.shutil, "which", lambda name: {"python3": "/own/python3"}.get(name, name))
    assert commands.python_with(kind, "") == {"own": "/own/python3", "installed": "/installed/python"}[taken]


@pytest.mark.parametrize("package", ["", "/other/python"])
def test_a_python_without_dask_is_refused_by_name(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_has", lambda python, module: False)
    monkeypatch.setattr(commands.shutil, "which", lambda name: {"python3": "/own/python3"}.get(name, name))
    with pytest.raises(AdminError, match=f"{package or '/own/python3'} cannot import distributed: install it there"):
        commands.python_with("dask", package)
