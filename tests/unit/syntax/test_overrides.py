"""Host dependent values of queue attributes; the examples are those of the cluster queue specification."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.overrides import Overrides

LINUX = frozenset({"@linux", "@linuxsolaris"})
SOLARIS = frozenset({"@solaris", "@linuxsolaris"})


@pytest.mark.statement("CQ-7", "CQ-10", "CQ-20")
def test_example_1() -> None:
    overrides = Overrides.parse("0,[solaris1=1],[linux=2]")
    assert overrides.value_for("solaris1", SOLARIS) == ("1", ())
    assert overrides.value_for("linux1", LINUX) == ("0", ())


@pytest.mark.statement("CQ-8", "CQ-21")
def test_example_2_lacks_its_default() -> None:
    with pytest.raises(InvalidValueError, match="default"):
        Overrides.parse("[@solaris=np_load_avg=1.75],[@linux=np_load_avg=2.0]")


@pytest.mark.statement("CQ-9", "CQ-10", "CQ-22", "CQ-24")
def test_example_3() -> None:
    overrides = Overrides.parse("NONE,[@linux=mathlab_users],[linux1=mathlab_users mpi_users]")
    assert overrides.value_for("linux1", LINUX) == ("mathlab_users mpi_users", ())
    assert overrides.value_for("linux2", LINUX) == ("mathlab_users", ())
    assert overrides.value_for("solaris1", SOLARIS) == ("NONE", ())


@pytest.mark.statement("CQ-12", "CQ-14", "CQ-23", "X-3")
def test_example_4_is_ambiguous_where_groups_overlap() -> None:
    overrides = Overrides.parse("NONE,[@linux=mathlab_users],[@linuxsolaris=mathlab_users mpi_users]")
    for host in ("linux1", "linux2"):
        assert overrides.value_for(host, LINUX) == ("NONE", ("@linux", "@linuxsolaris"))
    assert overrides.value_for("solaris1", SOLARIS) == ("mathlab_users mpi_users", ())


@pytest.mark.statement("CQ-15")
def test_a_tuple_of_the_host_settles_it() -> None:
    overrides = Overrides.parse("NONE,[@linux=a],[@linuxsolaris=b],[linux1=c]")
    assert overrides.value_for("linux1", LINUX) == ("c", ())


@pytest.mark.statement("CQ-11", "X-2")
def test_two_tuples_of_one_identifier_are_refused() -> None:
    with pytest.raises(InvalidValueError, match='"g1" has more than one value'):
        Overrides.parse("0,[g1=1],[g1=2]")


@pytest.mark.statement("CQ-24", "CQ-25")
def test_lists_and_blanks() -> None:
    overrides = Overrides.parse("NONE , [@quad=all-mpi mpi-8] ,[@dual=a, b]")
    assert overrides.tuples == {"@dual": "a, b", "@quad": "all-mpi mpi-8"}
    assert str(Overrides.parse("np_load_avg=1.75,load_short=2,[g1=np_load_avg=3,load_short=4]")) == (
        "np_load_avg=1.75,load_short=2,[g1=np_load_avg=3,load_short=4]"
    )


def test_tuples_are_printed_by_identifier() -> None:
    assert str(Overrides.parse("make,[g1=smp mpi],[@b=make]")) == "make,[@b=make],[g1=smp mpi]"


@pytest.mark.parametrize(
    "text", ["0,", "0 [g1=1]", "0,[g1=1] [g2=2]", "[g1=1],0", "0,[g1=1", "0,[g1=1],", "0,[=1]", "0,[g1]", "0,[g1=]"]
)
def test_malformed_values_are_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Overrides.parse(text)


@pytest.mark.statement("QF-5", "QF-8")
def test_single_values_can_be_set_and_purged() -> None:
    overrides = Overrides.parse("0,[@g=1],[h=2]")
    assert str(overrides.with_value("@g", "3").with_value("", "9")) == "9,[@g=3],[h=2]"
    assert str(overrides.without(["@g"])) == "0,[h=2]"
