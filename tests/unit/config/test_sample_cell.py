"""The default cell in `cluster-config`."""

from collections import Counter

import pytest

from gridengine.config.complexes import BUILT_IN
from gridengine.config.sample_cell import read_cell
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import format_complex_table, format_object
from tests.default_cell import shipped_texts


@pytest.mark.statement("CX-15", "PE-15", "HG-11", "OB-3", "QC-43")
def test_the_default_cell() -> None:
    cell = read_cell(shipped_texts())
    names = {(kind, made.object_name) for kind, made in cell}
    assert {
        ("cluster_queue", "all.q"),
        ("host_group", "@allhosts"),
        ("parallel_environment", "make"),
        ("parallel_environment", "smp"),
        ("parallel_environment", "mpi"),
        ("userset", "arusers"),
        ("userset", "deadlineusers"),
        ("userset", "defaultdepartment"),
        ("scheduler", ""),
        ("configuration", "global"),
    } <= names
    assert {name for kind, name in names if kind == "complex"} == BUILT_IN | {"cgroups"}
    by_name = {made.object_name: made.attributes() for _, made in cell}
    assert by_name["all.q"]["pe_list"] == "make smp mpi" and by_name["all.q"]["hostlist"] == "@allhosts"
    assert by_name["slots"] == dict(zip(by_name["slots"], "slots s INT <= YES YES 1 1000".split(), strict=True))
    rules = {name: by_name[name]["allocation_rule"] for name in ("make", "mpi", "smp")}
    assert rules == {"make": "$round_robin", "mpi": "$fill_up", "smp": "$pe_slots"}


@pytest.mark.statement("CQ-33")
def test_references_of_sample_objects_exist() -> None:
    known: set[tuple[str, str]] = set()
    for kind, made in read_cell(shipped_texts()):
        assert set(made.requirements()) <= known | {(kind, made.object_name)}
        known.add((kind, made.object_name))


@pytest.mark.statement("OB-2")
def test_sample_files_equal_the_output_of_qconf() -> None:
    files = shipped_texts()
    rows = []
    for kind, made in read_cell(files):
        if kind == "complex":
            rows.append(made.attributes())
            continue
        name = made.object_name if kind == "configuration" else ""
        assert format_object(kind, made.attributes(), name=name) in files.values()
    assert format_complex_table(rows) == files["complexes"]


def test_a_whole_cell_is_read_in_an_order_in_which_it_can_be_added() -> None:
    cell = read_cell(
        {
            **shipped_texts(),
            "managers": "root alice\n",
            "admin_hosts": "m1\n",
            "local_configurations/h1": "mailer /bin/mail\n",
            "resource_quotas/all": "{\nname a\nlimit to slots=1\n}\n{\nname b\nlimit to slots=2\n}\n",
        }
    )
    counts = Counter(kind for kind, _ in cell)
    assert (counts["manager"], counts["admin_host"], counts["configuration"], counts["resource_quota"]) == (2, 1, 2, 2)
    kinds = [kind for kind, _ in cell]
    assert kinds.index("parallel_environment") < kinds.index("cluster_queue") < kinds.index("resource_quota")
    with pytest.raises(ConfigError, match='"foo/bar" is not the name'):
        read_cell({"foo/bar": ""})
