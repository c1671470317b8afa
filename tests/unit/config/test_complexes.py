"""Complex attributes: the rules between columns, each with the verdict of the real 8.1.9."""

import pytest

from gridengine.config.complexes import BUILT_IN, Complex, check_change, check_table, value_of
from gridengine.errors import ConfigError
from gridengine.syntax.object_file import parse_complex_table


def read(*lines: str) -> list[Complex]:
    return [Complex.parse(row) for row in parse_complex_table("\n".join(lines))]


@pytest.mark.statement("CX-3", "CX-5", "CX-6", "CX-7", "CX-8", "CX-9", "CX-10", "CX-11", "CX-12", "X-5", "X-7")
@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("c s INT <= YES YES 0 0", "c s INT <= YES YES 0 0"),
        ("c s INT <= y j 1 1.5", "c s INT <= YES JOB 1 1.5"),
        ("c s STRING != y n NONE 0", "c s STRING != YES NO NONE 0"),
        ("c s INT != y n 0 0", "c s INT != YES NO 0 0"),
        ("c s BOOL == y n FALSE 0", "c s BOOL == YES NO FALSE 0"),
        ("c s BOOL EXCL y y 1 1000", "c s BOOL EXCL YES YES 1 1000"),
        ("c c INT <= y n 0 0", "c c INT <= YES NO 0 0"),
        ("c s INT <= forced n 0 0", "c s INT <= FORCED NO 0 0"),
        ("c s MEMORY <= y y 1.5G 0", "c s MEMORY <= YES YES 1.5G 0"),
        ("c s TIME <= yes yes 0:0:5 0", "c s TIME <= YES YES 0:0:5 0"),
        ("c s DOUBLE <= n y 1e3 -5", "c s DOUBLE <= NO YES 1e3 -5"),
        ("c s int <= YES job 0 1e2", "c s INT <= YES JOB 0 1e2"),
        ("c s CSTRING == f no NONE 0", "c s CSTRING == FORCED NO NONE 0"),
        ("c s RESTRING == y n NONE 0", "c s RESTRING == YES NO NONE 0"),
        ("c s HOST == y n NONE 0", "c s HOST == YES NO NONE 0"),
        ("c s TIME > y n 0 0", "c s TIME > YES NO 0 0"),
        ("c s DOUBLE < y n 0 0", "c s DOUBLE < YES NO 0 0"),
    ],
)
def test_definitions_that_are_accepted(line: str, printed: str) -> None:
    (made,) = read(line)
    assert " ".join(made.attributes().values()) == printed


@pytest.mark.statement("CX-4", "CX-5", "CX-6", "CX-7", "CX-8", "CX-9", "CX-10", "CX-11", "CX-12", "CX-13", "X-7")
@pytest.mark.parametrize(
    ("line", "attribute"),
    [
        ("c s INT == YES YES 0 0", "relop"),
        ("c s STRING <= y n NONE 0", "relop"),
        ("c s STRING == y y NONE 0", "consumable"),
        ("c s BOOL EXCL y n 0 0", "relop"),
        ("c s INT EXCL y y 0 0", "relop"),
        ("c s BOOL <= y y 0 0", "relop"),
        ("c s BOOL == y y 0 0", "consumable"),
        ("c s BOOL > y n 0 0", "relop"),
        ("c s BOOL != y n 0 0", "relop"),
        ("c s FOO == y n 0 0", "type"),
        ("c s INT <= n y 0 0", "default"),
        ("c s INT <= f y 1 0", "default"),
        ("c s INT <= y n 5 0", "default"),
        ("c s INT <= y y 1.5 0", "default"),
        ("c s MEMORY <= y y x 0", "default"),
        ("c s STRING == y n 0 0", "default"),
        ("c s STRING == y n abc 0", "default"),
        ("c s INT <= maybe y 0 0", "requestable"),
        ("c s INT <= y maybe 0 0", "consumable"),
        ("c s INT <= y y 0 abc", "urgency"),
        ("c s INT =< y y 0 0", "relop"),
        ("c@ s INT <= y y 0 0", "name"),
    ],
)
def test_definitions_that_are_refused(line: str, attribute: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read("# comment", line)
    assert (caught.value.attribute, caught.value.line) == (attribute, 2)


@pytest.mark.statement("CX-2")
@pytest.mark.parametrize(
    "line", ["c2 arch INT <= y n 0 0", "arch s INT <= y n 0 0", "a s INT <= y n 0 0", "c2 a INT <= y n 0 0"]
)
def test_names_and_shortcuts_are_unique(line: str) -> None:
    with pytest.raises(ConfigError, match="already"):
        check_table(read("arch a STRING == YES NO NONE 0", line))
    check_table(read("arch a STRING == YES NO NONE 0", "cpu cpu DOUBLE >= YES NO 0 0"))


@pytest.mark.statement("CX-14")
def test_built_in_attributes_stay() -> None:
    def table(*lines: str) -> dict[str, Complex]:
        return {entry.name: entry for entry in read(*lines)}

    old = table("arch a STRING == YES NO NONE 0", "num_proc p INT == YES NO 0 0", "mine m INT <= YES NO 0 0")
    check_change(old, table("arch ab RESTRING == YES NO NONE 5", "num_proc p INT == YES NO 0 0"))
    for text_type in ("CSTRING", "RESTRING", "STRING"):
        check_change(old, table(f"arch a {text_type} == YES NO NONE 0", "num_proc p INT == YES NO 0 0"))
    with pytest.raises(ConfigError, match='"arch": a built-in attribute cannot be removed'):
        check_change(old, table("num_proc p INT == YES NO 0 0"))
    with pytest.raises(ConfigError, match='"num_proc", attribute "type"'):
        check_change(old, table("arch a STRING == YES NO NONE 0", "num_proc p DOUBLE == YES NO 0 0"))
    with pytest.raises(ConfigError, match='"arch", attribute "type"'):
        check_change(old, table("arch a HOST == YES NO NONE 0", "num_proc p INT == YES NO 0 0"))
    assert "mine" not in BUILT_IN


@pytest.mark.statement("CX-4")
def test_values_by_type() -> None:
    assert [value_of("INT", text) for text in ("12", "1k", "0x10", "1.5k")] == [12, 1000, 16, 1500]
    assert value_of("INT", "INFINITY") == float("inf")
    assert value_of("DOUBLE", "1e3") == 1000
    assert value_of("TIME", "1::1") == 3601
    assert value_of("MEMORY", "1K") == 1024
    assert (value_of("BOOL", "TRUE"), value_of("BOOL", "false")) == (1, 0)
    assert value_of("STRING", "12") == "12"
    with pytest.raises(ValueError, match="integer"):
        value_of("INT", "1.5")
