"""The pattern language, with the examples of complex(5) and answers of the real 8.1.9."""

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.wildcard import is_pattern, matches

ARCHITECTURES = ["lx22-x86", "lx24-x86", "lx25-x86", "lx26-x86", "lx24-amd64", "sol-x86", "sol-x64", "sol-sparc"]


@pytest.mark.statement("CX-53", "CX-54", "X-6")
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*x24*|sol*", ["lx24-x86", "lx24-amd64", "sol-x86", "sol-x64", "sol-sparc"]),
        ("sol-x??", ["sol-x86", "sol-x64"]),
        ("lx2[246]-x86", ["lx22-x86", "lx24-x86", "lx26-x86"]),
        ("lx2[4-6]-x86", ["lx24-x86", "lx25-x86", "lx26-x86"]),
        ("lx2[24-6]-x86", ["lx22-x86", "lx24-x86", "lx25-x86", "lx26-x86"]),
        ("!lx24-x86&!sol-sparc", [name for name in ARCHITECTURES if name not in ("lx24-x86", "sol-sparc")]),
        ("lx2[4|6]-x86", []),
    ],
)
def test_examples_of_the_complex_page(expression: str, expected: list[str]) -> None:
    assert [name for name in ARCHITECTURES if matches(expression, name)] == expected


@pytest.mark.statement("X-6", "CX-56")
def test_an_operator_divides_also_inside_brackets_and_cannot_be_escaped() -> None:
    assert matches("[linux|solaris]", "[linux") and matches("[linux|solaris]", "solaris]")
    assert not matches("[linux|solaris]", "linux")
    assert matches("lx2[4|6]-x86", "lx2[4") and matches("lx2[4|6]-x86", "6]-x86")
    assert not matches("a\\|b", "a|b")


@pytest.mark.statement("QN-5", "CX-57")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*", ["", "a", "a.b"], []),
        ("?", ["a", "."], ["", "ab"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a\\*b", ["a*b"], ["axb", "a\\*b"]),
        ("\\\\", ["\\"], ["\\\\"]),
        ("[a-c]", ["a", "b", "c"], ["d", "-", "[a-c]"]),
        ("[xyz]", ["x", "z"], ["a", "xyz"]),
        ("[^a]", ["^", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[]a]", ["]", "a"], ["[]a]"]),
        ("[a\\]b]", ["a", "]", "b"], ["\\"]),
        ("[c-a]", [], ["a", "b", "c", "-"]),
        ("[a", ["[a"], ["a"]),
        ("a]", ["a]"], ["a"]),
        ("lx+", ["lx+"], ["lxx"]),
        ("*a*b*", ["ab", "xaxbx"], ["ba"]),
        ("A", ["A"], ["a"]),
    ],
)
def test_pattern_elements(pattern: str, yes: list[str], no: list[str]) -> None:
    assert all(matches(pattern, text) for text in yes)
    assert not any(matches(pattern, text) for text in no)


@pytest.mark.statement("QN-4", "CX-53")
@pytest.mark.parametrize(
    ("expression", "yes", "no"),
    [
        ("a*&!adam", ["a", "anna"], ["adam", "b"]),
        ("(lx*|sol*)&*64*", ["lx-64", "sol64x"], ["lx", "64"]),
        ("rh_3*&!rh_3.1", ["rh_3.2"], ["rh_3.1", "rh_2"]),
        ("a|ab&sol*", ["a"], ["ab", "sol"]),
        ("sol*&x|a", ["a"], ["solx", "x"]),
        ("!(a|ab)", ["b"], ["a", "ab"]),
        ("!!a", ["a"], ["b"]),
        ("!(!a)", ["a"], ["b"]),
        ("!(lx*)&*x86", ["sol-x86"], ["lx-x86"]),
        ("((a))", ["a"], ["(a)"]),
        ("x|!(ab|a)&a*", ["x", "abc"], ["a", "ab", "b"]),
    ],
)
def test_boolean_operators(expression: str, yes: list[str], no: list[str]) -> None:
    assert all(matches(expression, text) for text in yes)
    assert not any(matches(expression, text) for text in no)


@pytest.mark.parametrize("expression", ["(a", "a)", "a|", "|a", "a&", "a&&b", "()", "(a|b)*", "[!a]", "!", "\\(a\\)"])
def test_wrong_expressions_are_refused_with_their_position(expression: str) -> None:
    with pytest.raises(InvalidValueError, match=r"wrong at position [0-9]+"):
        matches(expression, "a")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="too deeply"):
        matches("!" * 500 + "a", "a")


@pytest.mark.statement("CX-58")
def test_a_plain_string_needs_equality() -> None:
    assert not is_pattern("linux-x86_64.2") and is_pattern("li*") and is_pattern("!a") and is_pattern("a|b")
    assert matches("linux", "linux") and not matches("linux", "linux2")


@pytest.mark.statement("CX-55")
def test_case_can_be_ignored() -> None:
    assert matches("Node*", "nODE1", ignore_case=True) and matches("Node1", "node1", ignore_case=True)
    assert not matches("Node*", "node1")


@pytest.mark.parametrize("text", ["?" * 1025, "[a" * 513, "*a" * 513], ids=lambda text: text[:2])
def test_expressions_have_a_longest_length(text: str) -> None:
    with pytest.raises(InvalidValueError, match="longer than 1024 characters"):
        matches(text, "a")
    assert not matches(text[:1024], "a")


def test_expressions_have_a_largest_number_of_patterns() -> None:
    assert matches("|".join(["?"] * 64), "a")
    with pytest.raises(InvalidValueError, match="more than 64 patterns"):
        matches("|".join(["?"] * 65), "a")


@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_list_of_names_may_be_long(ignore_case: bool) -> None:
    hosts = [f"node{number:03}.cluster" for number in range(250)]
    text = "|".join(hosts)
    assert len(text) > 2048
    assert all(matches(text, host, ignore_case) for host in hosts)
    assert not matches(text, "node250.cluster", ignore_case) and not matches(text, "node00", ignore_case)
    assert matches("(" + "|".join(["a"] * 100) + "|?)&!b", "c")
    with pytest.raises(InvalidValueError, match="more than 64 patterns"):
        matches("&".join(["a"] * 65), "a")
    with pytest.raises(InvalidValueError, match="longer than 4096 characters"):
        matches("a" * 4097, "a")
