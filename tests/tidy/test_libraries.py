"""pyproject.toml, `gridengine/extensions.py` and the table of folders agree on the libraries of the core and of extensions."""

from __future__ import annotations

import re
import tomllib

from gridengine.extensions import LIBRARIES
from tests.tidy.sources import ROOT
from tests.tidy.test_folders import TABLE
from tools.libraries import libraries_of_everything

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]

#: module -> the library of pyproject.toml that brings it, where the names differ
BRINGS = {
    "dateutil": "python-dateutil",
    "markupsafe": "jinja2",
    "multidict": "aiohttp",
    "prometheus_client": "prometheus-client",
    "psycopg": "psycopg[binary]",
    "pydantic_core": "pydantic",
    "pynvml": "nvidia-ml-py",
    "yarl": "aiohttp",
}


def names(requirements: list[str]) -> set[str]:
    return {re.split("[><=]", each)[0] for each in requirements}


def imported(part: str) -> set[str]:
    """Libraries that the folders of a part import."""
    return {BRINGS.get(each, each) for folder in TABLE.values() if folder.part == part for each in folder.libraries}


def test_the_core_depends_on_the_libraries_that_it_imports() -> None:
    assert imported("core") == names(PROJECT["dependencies"])


def test_libraries_of_extensions_alone_are_optional() -> None:
    optional = {name: names(OPTIONAL[name]) for name in LIBRARIES}
    assert optional == {name: set(libraries) for name, libraries in LIBRARIES.items()}
    loaded_by_others = {"pytz"}  # of duckdb
    assert imported("extension") - imported("core") == set().union(*optional.values()) - loaded_by_others


def test_a_complete_installation_has_all_of_them() -> None:
    assert OPTIONAL["dev"][0] == "gridengine[all]"
    everything = names(PROJECT["dependencies"]).union(*(names(OPTIONAL[name]) for name in LIBRARIES))
    assert names(libraries_of_everything(PROJECT)) == everything
