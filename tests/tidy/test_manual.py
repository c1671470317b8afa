"""The manual describes the whole product: every attribute with its default, every field, state, code and program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from msgspec.structs import fields as struct_fields

from daemons.dbwriter.settings import Settings
from daemons.qmaster.rules.failures import FAILURES, Fault, Then
from daemons.runtime.cell import Cell, Limits
from gridengine.config import KINDS
from gridengine.config.attribute_help import help_of
from gridengine.config.parameters import KNOWN_PARAMETERS
from gridengine.state.configured.configuration import ExecdParameters, QmasterParameters, ReportingParameters
from gridengine.usage import failed
from gridengine.usage.accounting import FIELDS
from tests.tidy.sources import ROOT, table_of
from tools.attribute_tables import FORMATS, PAGES, with_table
from tools.launchers import COMMANDS, PROGRAMS
from tools.manual_pages import SECTIONS, sources
from tools.roff import ManualPage
from tools.site_hooks import on_config

_BARE = {"admin_host", "submit_host", "manager", "operator"}
#: accepted where scripts set them, read by nobody
_FLUSH_TIMES = {"FLUSH_TIME", "ACCOUNTING_FLUSH_TIME"}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _described(page: str, name: str = "attribute") -> dict[str, str]:
    """The default of each name that a page lists, "" for none."""
    rows = table_of(f"docs/formats/{page}.md", name, "default", "meaning")
    return {each: default.strip("`") for names, default, _ in rows for each in _names(names)}


def test_every_kind_of_object_has_its_page() -> None:
    assert FORMATS.keys() | _BARE == KINDS.keys()


@pytest.mark.parametrize(("kind", "page"), FORMATS.items(), ids=FORMATS.values())
def test_a_format_describes_every_attribute_with_its_predefined_value(kind: str, page: str) -> None:
    described = _described(page)
    assert list(described) == list(KINDS[kind].model_fields), "every attribute, in the order in which it is printed"
    if kind == "share_tree":
        return  # its text is a tree
    for name, field in KINDS[kind].model_fields.items():
        predefined = "" if field.is_required() or field.default is None else field.default
        assert described[name] == predefined, name


@pytest.mark.parametrize("kind", FORMATS)
def test_the_table_of_a_format_is_made_from_the_help_of_attributes(kind: str) -> None:
    page = (PAGES / f"{FORMATS[kind]}.md").read_text()
    assert page == with_table(kind, page), "make pages"


@pytest.mark.parametrize("kind", KINDS)
def test_each_attribute_has_help_and_a_group(kind: str) -> None:
    described = help_of(kind)
    assert set(described) == (set() if kind in _BARE else set(KINDS[kind].model_fields))
    assert all(each.group and each.text for each in described.values())


@pytest.mark.parametrize(
    ("attribute", "read"),
    [("qmaster_params", QmasterParameters), ("execd_params", ExecdParameters), ("reporting_params", ReportingParameters)],
)
def test_parameters_that_the_product_reads_are_described(attribute: str, read: type) -> None:
    section = (ROOT / "docs/formats/sge_conf.md").read_text().partition(f"## {attribute}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| `(.*)` \| .+ \|$", section, re.MULTILINE)
    described = {name: default for names, default in rows for name in _names(names)}
    names = {re.sub(r"_s$", "", field.name).upper() for field in struct_fields(read)}
    if read is ExecdParameters:
        # USE_CGROUPS is read as the default of ENABLE_CGROUPS
        names = (names - {"LIMITS"}) | {"USE_CGROUPS"} | {name for name in described if name[:2] in ("S_", "H_")}
        assert len([name for name in described if name[:2] in ("S_", "H_")]) == 8
    assert described.keys() - _FLUSH_TIMES == names
    known = KNOWN_PARAMETERS[attribute]
    assert {name: known[name] for name in described} == described


def test_the_fields_of_accounting_are_described_by_their_numbers() -> None:
    rows = table_of("docs/formats/accounting.md", "field", "number", "meaning")
    assert [(name.strip("`"), int(number)) for name, number, _ in rows] == [(name, n) for n, name in enumerate(FIELDS, start=1)]


def test_the_settings_of_bootstrap_and_arco_are_described() -> None:
    inside = {"root", "name", "aliases", "limits"}
    settings = {field.name for field in fields(Cell)} - inside | {field.name for field in fields(Limits)}
    assert _described("bootstrap", "setting").keys() == settings
    assert _described("arco", "setting").keys() == {field.name for field in fields(Settings)}


def test_each_failed_code_describes_the_result_for_the_job() -> None:
    rows = {int(code.strip("`")): text for code, _, text in table_of("docs/formats/sge_status.md", *_CODES)}
    # those of other systems than Linux are in the table of texts for old records alone
    assert rows.keys() == failed.TEXTS.keys() - {16, 17, 29, *range(31, 37)}
    for code, text in rows.items():
        rule = FAILURES.get(code)
        if rule is None:
            assert text in ("is over", "waits again")
            continue
        assert (rule.fault is Fault.JOB) == ("the job is in error" in text), code
        if rule.fault is not Fault.JOB:
            assert (rule.fault is Fault.QUEUE) == ("queue instance is in error" in text), code
            assert text.startswith("is over" if rule.then is Then.OVER else "waits again"), code
            assert (rule.then is Then.IF_IT_MAY) == ("may run twice" in text), code


_CODES = ("code", "step", "result for the job")


def test_every_program_has_a_page() -> None:
    pages = {path.stem for path, _ in sources()}
    installed = {name for name in COMMANDS if (ROOT / f"clients/{name}.py").exists()}
    # gridengine backup is what people call
    assert installed | PROGRAMS.keys() - {"sge_backup"} <= pages


@pytest.mark.parametrize("path", [path for path, _ in sources()], ids=lambda path: path.stem)
def test_a_page_can_be_made_and_has_its_parts(path: Path) -> None:
    section = SECTIONS[path.parent.name]
    page = ManualPage.read(path.read_text(), section, SECTIONS)
    text = page.roff("1", "2026-01-01")
    assert page.name == path.stem
    assert ".SH SEE ALSO" in text or path.stem == "sge_intro"
    if section != 5 and path.stem != "sge_intro":
        assert ".SH EXAMPLES" in text and ".SH EXIT CODES" in text
    for name, number in re.findall(r"\\fB([\w-]+)\\fR\((\d)\)", text):
        assert (name, int(number)) in {(each.stem, at) for each, at in sources()}, "a page that is referred to is there"


def _leaves(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for inner in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from _leaves(inner)


def test_every_page_is_found_in_the_navigation_of_the_site() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    # hook, as mkdocs would call it
    reached = set(_leaves(on_config({"nav": settings["nav"], "docs_dir": ROOT / "docs"})["nav"]))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert reached == pages - {settings["exclude_docs"].strip()}
    shim = settings["extra"]["polyfills"][0]
    assert (ROOT / "docs" / shim).exists(), "else the search asks the network"
