"""`gridengine init`: defaults, and every wrong option is refused before a file is written."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from clients.admin.cell_commands import first_commands
from clients.admin.cell_plan import RUN_DIR_BYTES, CellOptions, plan_cell
from clients.admin.errors import AdminError
from clients.admin.host_resources import Machine

MACHINE = Machine(processors=4, memory=8192, gpus=0)


def options(**changes):
    return CellOptions(**{"root": Path("/srv/ge"), "master_host": "localhost", **changes})


@pytest.mark.statement("GC-5")
def test_bootstrap_has_the_parameters_of_the_daemons():
    plan = plan_cell(options(cell="c1", spool_dir=Path("/srv/spool"), run_dir=Path("/run/c1"), qmaster_port=7000))
    assert plan.bootstrap == {
        "admin_user": plan.admin_user,
        "spooling_method": "sqlite",
        "qmaster_spool_dir": "/srv/spool/qmaster",
        "execd_spool_dir": "/srv/spool/execd",
        "run_dir": "/run/c1",
        "qmaster_port": "7000",
        "ray_port": "6446",
        "ray_ports": "6447-6510",
        "security_mode": "tls",
    }


@pytest.mark.statement("GC-6")
def test_a_user_gets_a_cell_without_places_that_only_root_can_write(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    plan = plan_cell(options())
    assert str(plan.spool_dir) == "/srv/ge/default/spool"
    assert str(plan.run_dir).startswith("/tmp/ge-1-")


@pytest.mark.statement("GC-5", "GC-6")
def test_a_cell_of_a_user_has_free_ports_and_no_load_threshold_by_default(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (plan_cell(options()).qmaster_port, plan_cell(options()).load_thresholds) == (6444, None), "root's"
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    monkeypatch.setattr("clients.admin.cell_plan.free_cell_ports", lambda count: (7001, 7002, f"7003-{7002 + count}"))
    plan = plan_cell(options())
    assert (plan.qmaster_port, plan.ray_port, plan.ray_ports, plan.load_thresholds) == (7001, 7002, "7003-7066", "NONE")
    plan = plan_cell(options(qmaster_port=7000, load_thresholds="np_load_avg=2"))
    assert (plan.qmaster_port, plan.ray_port, plan.ray_ports, plan.load_thresholds) == (7000, 6446, "6447-6510", "np_load_avg=2")


@pytest.mark.statement("GC-6")
def test_the_next_four_commands_lead_to_the_first_job(monkeypatch):
    first = [". /srv/ge/default/common/settings.sh", "gridengine start"]
    joining = "gridengine join (on each exec host, as printed)"
    assert first_commands(plan_cell(options())) == [*first, "gridengine token join", joining]
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    here = first_commands(plan_cell(options(exec_hosts=["localhost"]), lambda: MACHINE))
    assert here == [*first, "qhost", "qsub -b y -sync y hostname"]
    both = first_commands(plan_cell(options(exec_hosts=["localhost", "h1"], aliases=["h1=127.0.0.1"]), lambda: MACHINE))
    assert both == [*first, "gridengine start (on h1)", "qhost"]
    in_units = first_commands(plan_cell(options()), "systemctl enable --now sge_qmaster")
    assert in_units[1] == "systemctl enable --now sge_qmaster" and "gridengine start" not in in_units


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"root": None}, "--root"),
        ({"root": Path("/a b")}, "--root"),
        ({"cell": "../x"}, "--cell"),
        ({"cell": ""}, "--cell"),
        ({"admin_user": "nobody-of-this-name"}, "--admin-user"),
        ({"qmaster_port": 0}, "--qmaster-port"),
        ({"ray_port": 65536}, "--ray-port"),
        ({"qmaster_port": 7, "ray_port": 7}, "differ"),
        ({"ray_ports": "6447"}, "--ray-ports"),
        ({"ray_ports": "6500-6505"}, "--ray-ports"),
        ({"ray_ports": "65530-65545"}, "--ray-ports"),
        ({"ray_ports": "6440-6480"}, "must lie outside"),
        ({"run_dir": Path("/" + "r" * RUN_DIR_BYTES)}, "--run-dir"),
        ({"slots": -1}, "--slots"),
        ({"exec_hosts": ["a_b!"]}, "--exec-host"),
        ({"aliases": ["demo1"]}, "--alias"),
        ({"master_host": "-x"}, "--master-host"),
        ({"memory": "1Q"}, "--memory"),
        ({"memory": "-1G"}, "--memory"),
        ({"memory": "INFINITY"}, "--memory"),
        ({"memory": "0"}, "--memory"),
    ],
)
def test_wrong_options_are_refused_by_name(changes, place):
    with pytest.raises(AdminError, match=place):
        plan_cell(options(**changes))


def test_a_name_that_does_not_resolve_needs_an_alias(monkeypatch):
    def unknown(*_arguments):
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr("_socket.getaddrinfo", unknown)
    with pytest.raises(AdminError, match="--exec-host h1: the name does not resolve"):
        plan_cell(options(aliases=["localhost=127.0.0.1"], exec_hosts=["h1"]))
    plan = plan_cell(options(aliases=["localhost=127.0.0.1", "h1=127.0.0.2", "h1=h1.example"], exec_hosts=["h1", "h1"]))
    assert plan.exec_hosts == ("h1",)
    assert plan.aliases["h1"] == ["127.0.0.2", "h1.example"]


def test_an_alias_may_be_an_address_of_either_family():
    plan = plan_cell(options(aliases=["localhost=FD88::1", "h1=fd88::2"], exec_hosts=["h1"]))
    assert (plan.addresses("localhost")[0], plan.addresses("h1")) == ("fd88::1", ["fd88::2"])
    for wrong in ("h1=[h2]", "fd88::2=h1", "h1=fd88::g"):
        with pytest.raises(AdminError, match="a host name and another name or an address"):
            plan_cell(options(aliases=[wrong]))


def test_a_link_local_address_is_refused():
    with pytest.raises(AdminError, match="--exec-host h1: fe80::2 is link-local: it is valid on one link"):
        plan_cell(options(aliases=["localhost=fd88::1", "h1=fe80::2"], exec_hosts=["h1"]))


def test_hosts_of_two_families_are_refused():
    families = ["localhost=10.0.0.1", "h1=fd88::2"]
    with pytest.raises(AdminError, match="if localhost has an IPv6 address, give it as an alias of localhost"):
        plan_cell(options(aliases=families, exec_hosts=["h1"]))
    plan_cell(options(aliases=[*families, "h1=10.0.0.2"][::2], exec_hosts=["h1"]))


def test_only_root_makes_a_cell_for_another_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    with pytest.raises(AdminError, match="only root"):
        plan_cell(options(admin_user="root"))
