"""`gridengine init`: the files afterwards, and that a failure leaves no files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from clients.admin.cell import CellFiles, read_cell
from clients.admin.cell_plan import CellOptions, plan_cell
from clients.admin.certificate import is_key_of, is_signed_by, utc_now
from clients.admin.creation import create_cell
from clients.admin.errors import AdminError
from clients.admin.host_resources import Machine
from clients.admin.installation import Installation
from clients.admin.settings_files import settings_command, settings_texts
from clients.admin.sge_root import library_of, provide
from gridengine.config.cluster_queue import ClusterQueue
from gridengine.config.configuration import Configuration
from gridengine.config.hosts import ExecHost
from gridengine.config.sample_cell import read_cell as read_objects


def text_of(model) -> str:
    return "".join(f"{name} {value}\n" for name, value in model.attributes().items())


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """An installation with the smallest default configuration."""
    config = tmp_path / "share" / "cluster-config"
    (config / "queues").mkdir(parents=True)
    (config / "systemd").mkdir()
    (config / "systemd" / "x.service").write_text("[Unit]\n")
    (config / "queues" / "all.q").write_text(
        text_of(ClusterQueue.template("all.q")).replace("hostlist NONE", "hostlist @allhosts")
    )
    for name in ("jsv", "scripts"):
        shutil.copytree(Path(__file__).parents[3] / "cluster-config" / name, config / name)
    shutil.copy(Path(__file__).parents[3] / "cluster-config" / "complexes", config / "complexes")
    (config / "configuration").write_text(text_of(Configuration.template("global")))
    (config / "exec_hosts").mkdir()
    (config / "exec_hosts" / "global").write_text(text_of(ExecHost.template("global")))
    return Installation(tmp_path / "bin", config)


@pytest.fixture
def plan(tmp_path: Path):
    return plan_cell(
        CellOptions(
            root=tmp_path / "cells",
            cell="c1",
            master_host="m",
            spool_dir=tmp_path / "spool",
            run_dir=Path("/tmp/r"),
            qmaster_port=6444,
            exec_hosts=["h1", "h2"],
            slots=50,
            load_thresholds="NONE",
            aliases=["m=127.0.0.1", "h1=127.0.0.2", "h2=127.0.0.3", "h2=two"],
        )
    )


@pytest.mark.statement("GC-5")
def test_the_cell_can_be_read_back(plan, installation):
    create_cell(plan, installation, utc_now())
    cell = read_cell(plan.files)
    assert cell.settings == plan.bootstrap
    assert cell.master_host == "m"
    assert plan.files.host_aliases.read_text() == "m 127.0.0.1\nh1 127.0.0.2\nh2 127.0.0.3 two\n"
    assert sorted(path.name for path in plan.files.directory.iterdir()) == ["common"]


@pytest.mark.statement("GC-5")
def test_the_umask_of_the_administrator_closes_nothing_to_users(plan, installation):
    before = os.umask(0o077)
    try:
        create_cell(plan, installation, utc_now())
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    found = [plan.files.root, *plan.files.root.rglob("*"), Path(plan.bootstrap["execd_spool_dir"])]
    closed = {path.name for path in found if not path.stat().st_mode & 0o004}
    assert closed == {"secrets", "h1", "h2", "tls.crt", "gdi_key", "tls.key", "arco"}
    assert plan.files.certificate.stat().st_mode & 0o777 == 0o644


@pytest.mark.statement("JV-7")
def test_verifiers_find_their_libraries_below_the_root(plan, installation):
    library = plan.files.root / "util" / "resources" / "jsv" / "jsv_include.sh"
    library.parent.mkdir(parents=True)
    library.write_text("# the site's own\n")
    create_cell(plan, installation, utc_now())
    assert library.read_text() == "# the site's own\n"
    assert {path.name for path in library.parent.iterdir()} == {"jsv_include.sh", "JSV.pm", "jsv_include.tcl", "jsv.py"}


def test_each_host_has_closed_keys_of_its_own(plan, installation):
    create_cell(plan, installation, utc_now())
    masters, secrets = Path(plan.bootstrap["qmaster_spool_dir"]), plan.files.secrets
    assert {path.name for path in secrets.iterdir()} == {"h1", "h2"}
    for directory in (secrets, masters / "authority", masters / "keys", *secrets.iterdir()):
        assert directory.stat().st_mode & 0o777 == 0o700
    for directory in (masters / "keys", secrets / "h1", secrets / "h2"):
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in directory.iterdir())
        certificate = (directory / "tls.crt").read_bytes()
        assert is_key_of((directory / "tls.key").read_bytes(), certificate)
        assert is_signed_by(certificate, plan.files.certificate.read_bytes())
    assert (secrets / "h1" / "gdi_key").read_text() != (secrets / "h2" / "gdi_key").read_text()
    assert cell_modes(plan.files) == {0o600, 0o644}  # the first of the database, whose settings may have a password


def test_the_key_that_signs_stays_on_the_master_host(plan, installation):
    create_cell(plan, installation, utc_now())
    key = Path(plan.bootstrap["qmaster_spool_dir"]) / "authority" / "tls.key"
    assert is_key_of(key.read_bytes(), plan.files.certificate.read_bytes())
    shared = [path.read_bytes() for path in plan.files.root.rglob("*") if path.is_file()]
    assert key.read_bytes() not in shared


def cell_modes(files: CellFiles) -> set[int]:
    """Modes of the files that all users read."""
    public = [path for path in files.common.rglob("*") if path.is_file() and files.secrets not in path.parents]
    return {path.stat().st_mode & 0o777 for path in public}


def test_each_cell_has_an_id_of_its_own(plan, installation):
    create_cell(plan, installation, utc_now())
    first = plan.files.cell_id.read_text()
    assert re.fullmatch(r"cell_id +[0-9a-f]{32}\n", first)
    shutil.rmtree(plan.files.common)
    create_cell(plan, installation, utc_now())
    assert plan.files.cell_id.read_text() != first


@pytest.mark.statement("IN-2", "QF-24")
def test_the_first_configuration_fits_the_hosts(plan, installation):
    create_cell(plan, installation, utc_now())
    found = first_objects(plan)
    assert found["host_group", "@allhosts"].hostlist == "h1 h2"
    assert found["cluster_queue", "all.q"].slots == "50"
    assert found["cluster_queue", "all.q"].load_thresholds == "NONE"
    assert {name for kind, name in found if kind == "exec_host"} == {"global", "h1", "h2"}
    assert {name for kind, name in found if kind == "submit_host"} == {"m", "h1", "h2"}
    assert {name for kind, name in found if kind == "admin_host"} == {"m", "h1", "h2"}
    assert ("manager", plan.admin_user) in found
    assert found["configuration", "global"].execd_spool_dir == plan.bootstrap["execd_spool_dir"]


def first_objects(plan):
    directory = plan.files.initial_config
    texts = {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}
    return {(kind, model.object_name): model for kind, model in read_objects(texts)}


@pytest.mark.statement("CX-5", "CX-40")
def test_memory_and_gpus_are_counted_where_they_are_known(plan, installation):
    machine = Machine(processors=4, memory=8192, gpus=2)
    options = CellOptions(plan.files.root, "c2", "m", exec_hosts=["m", "h1"], slots=4, memory="total")
    options.spool_dir, options.run_dir, options.aliases = plan.spool_dir, plan.run_dir, ["m=127.0.0.1", "h1=127.0.0.2"]
    counted = plan_cell(options, lambda: machine)
    create_cell(counted, installation, utc_now())
    found = first_objects(counted)
    assert found["exec_host", "m"].complex_values == "h_vmem=8192M,gpu=2"
    assert found["exec_host", "h1"].complex_values == "NONE", "nothing is known of it yet"
    assert (found["complex", "h_vmem"].consumable, found["complex", "h_vmem"].default) == ("YES", "2048M")
    assert (found["complex", "gpu"].consumable, found["complex", "gpu"].relop) == ("JOB", "<=")


def test_a_size_is_that_of_each_host_and_without_one_nothing_is_counted(plan, installation):
    options = CellOptions(plan.files.root, "c2", "m", exec_hosts=["h1", "h2"], slots=3, memory="6G")
    options.spool_dir, options.run_dir = plan.spool_dir, plan.run_dir
    options.aliases = ["m=127.0.0.1", "h1=127.0.0.2", "h2=127.0.0.3"]
    counted = plan_cell(options)
    create_cell(counted, installation, utc_now())
    found = first_objects(counted)
    assert {found["exec_host", host].complex_values for host in ("h1", "h2")} == {"h_vmem=6G"}
    assert found["complex", "h_vmem"].default == "2048M" and ("complex", "gpu") not in found
    shutil.rmtree(plan.spool_dir)
    create_cell(plan, installation, utc_now())
    assert first_objects(plan)["complex", "h_vmem"].consumable == "NO"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("foo=1", 'there is no complex "foo"'),
        ("np_load_av=1", 'did you mean "np_load_avg"'),
        ("np_load_avg=much", '"much" is not a number'),
        ("np_load_avg", "name=value"),
    ],
)
def test_a_wrong_load_threshold_is_refused_and_makes_no_cell(plan, installation, text, reason):
    with pytest.raises(AdminError, match="--load-thresholds") as refused:
        create_cell(replace(plan, load_thresholds=text), installation, utc_now())
    assert reason in str(refused.value) and not plan.files.common.exists()


def test_thresholds_have_full_names(plan, installation):
    create_cell(replace(plan, load_thresholds="nla=1.5,mf=1G"), installation, utc_now())
    assert first_objects(plan)["cluster_queue", "all.q"].load_thresholds == "np_load_avg=1.5,mem_free=1G"


def test_a_cell_has_a_database_with_all_records(plan, installation):
    create_cell(plan, installation, utc_now())
    settings = plan.files.common / "arco"
    assert settings.read_text().split() == ["database", f"duckdb:{plan.spool_dir}/dbwriter/arco/arco.duckdb"]
    assert settings.stat().st_mode & 0o777 == 0o600
    first = plan.files.initial_config
    assert "reporting=true flush_time=00:00:15 joblog=true" in (first / "configuration").read_text()
    assert "np_load_avg,mem_free,mem_used,virtual_free,slots" in (first / "exec_hosts" / "global").read_text()


def test_a_cell_without_a_database_writes_no_records_for_one(plan, installation):
    create_cell(replace(plan, arco=False), installation, utc_now())
    assert not (plan.files.common / "arco").exists()
    assert "reporting=false" in (plan.files.initial_config / "configuration").read_text()


def test_an_existing_cell_is_left_as_it_is(plan, installation):
    create_cell(plan, installation, utc_now())
    before = plan.files.certificate.read_text()
    with pytest.raises(AdminError, match="holds a cell already"):
        create_cell(plan, installation, utc_now())
    assert plan.files.certificate.read_text() == before


def test_an_old_spool_is_not_taken_over(plan, installation):
    spool = Path(plan.bootstrap["qmaster_spool_dir"])
    spool.mkdir(parents=True)
    (spool / "spool.db").touch()
    with pytest.raises(AdminError, match="spool of an earlier cell"):
        create_cell(plan, installation, utc_now())
    assert not plan.files.root.exists()


def test_a_damaged_default_configuration_leaves_no_cell(plan, installation):
    (installation.cluster_config / "configuration").write_text("no_such_attribute 1\n")
    with pytest.raises(AdminError, match="not valid"):
        create_cell(plan, installation, utc_now())
    assert list(plan.files.directory.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(plan, installation):
    plan.files.root.write_text("a file in the way")
    with pytest.raises(AdminError, match=str(plan.files.root)):
        create_cell(plan, installation, utc_now())


def test_settings_name_the_cell_for_shells_and_module_systems(plan):
    prefix = Path("/opt/x")
    installed = Installation(prefix / "bin", prefix / "share/gridengine/cluster-config", prefix)
    of_sh, of_csh, of_modules = settings_texts(plan.files, plan.qmaster_port, installed).values()
    tokens = shlex.split(of_sh)
    assert f"SGE_ROOT={plan.files.root};" in tokens and "SGE_CELL=c1;" in tokens and "SGE_QMASTER_PORT=6444;" in tokens
    assert "PATH=/opt/x/bin:$PATH;" in tokens and "MANPATH=/opt/x/current/share/man:$MANPATH;" in tokens
    assert f"setenv SGE_ROOT {plan.files.root}\n" in of_csh
    assert f"SGE_ARCH=`{plan.files.root}/util/arch`;" in of_sh and f"setenv SGE_ARCH `{plan.files.root}/util/arch`\n" in of_csh
    assert "SGE_CLUSTER_NAME=p6444;" in tokens and "setenv SGE_CLUSTER_NAME p6444\n" in of_csh
    assert 'setenv MANPATH "/opt/x/current/share/man:${MANPATH}"\n' in of_csh
    assert of_modules.startswith("#%Module") and f"setenv SGE_ROOT {plan.files.root}\n" in of_modules
    assert "prepend-path PATH /opt/x/bin\n" in of_modules


def test_settings_of_an_existing_cell_are_written_where_they_differ(plan, installation, capsys, monkeypatch):
    monkeypatch.setattr("clients.admin.settings_files.find_installation", lambda: installation)
    create_cell(plan, installation, utc_now())
    common = plan.files.common
    texts = {name: (common / name).read_text() for name in ("settings.sh", "settings.csh", "modulefile")}
    (common / "modulefile").unlink()
    (common / "settings.csh").write_text("setenv SGE_ROOT /old\n")
    settings_command(plan.files.root, plan.files.name)
    assert capsys.readouterr().out == f"wrote {common}/settings.csh\nwrote {common}/modulefile\n"
    assert {name: (common / name).read_text() for name in texts} == texts
    assert cell_modes(plan.files) == {0o600, 0o644}
    settings_command(plan.files.root, plan.files.name)
    assert capsys.readouterr().out == ""


@pytest.mark.statement("DM-1")
def test_the_library_is_found_below_the_root_of_the_cell_and_by_settings(plan, installation):
    library = library_of(installation.bin.parent)
    plan.files.root.mkdir(exist_ok=True)
    installation.bin.mkdir(exist_ok=True)
    provide(plan.files.root, installation)
    assert not library_of(plan.files.root).parent.exists()
    commands, arch = plan.files.root / "bin" / library.parent.name, plan.files.root / "util" / "arch"
    assert commands.resolve() == installation.bin.resolve()
    utilities = Path("utilbin") / library.parent.name
    (installation.bin.parent / utilities).mkdir(parents=True)
    provide(plan.files.root, installation)
    assert (plan.files.root / utilities).resolve() == (installation.bin.parent / utilities).resolve()
    assert f"{os.uname().machine}) echo {library.parent.name} ;;" in arch.read_text() and os.access(arch, os.X_OK)
    library.parent.mkdir(parents=True)
    library.touch()
    provide(plan.files.root, installation)
    assert library_of(plan.files.root).resolve() == library.resolve()
    line = "DRMAA_LIBRARY_PATH={0}; export DRMAA_LIBRARY_PATH; fi\n"
    texts = settings_texts(plan.files, plan.qmaster_port, installation)
    assert f"if [ -e {library} ]; then {line.format(library)}" in texts["settings.sh"]
