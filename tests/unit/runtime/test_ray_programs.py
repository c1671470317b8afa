"""Modules that Ray does not load, the names of its actors before their classes are loaded, and the Pythons of its nodes."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
import ray
from ray._private.utils import check_version_info

from daemons.execd.actor import ExecdActor
from daemons.qmaster.serve.actor import EXECD_ACTOR
from daemons.runtime.lazy_modules import UNUSED_BY_RAY, load_lazily
from daemons.runtime.ray_node import RAY_SETTINGS
from daemons.runtime.ray_program import module_and_arguments


def test_a_late_module_is_loaded_by_the_first_look_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    load_lazily(("colorsys",))
    import colorsys

    assert "rgb_to_hsv" not in vars(colorsys)
    assert colorsys.rgb_to_hsv(1, 0, 0) == (0, 1, 1)
    assert "rgb_to_hsv" in vars(sys.modules["colorsys"])


def test_a_late_package_has_its_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wsgiref", "wsgiref.util"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    load_lazily(("wsgiref",))
    from wsgiref.util import shift_path_info

    assert shift_path_info({"PATH_INFO": "/a/b"}) == "a"


def test_a_module_that_is_loaded_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in UNUSED_BY_RAY:
        monkeypatch.setitem(sys.modules, name, known := ModuleType(name))
        load_lazily()
        assert sys.modules[name] is known


def test_a_late_function_loads_its_module_at_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    load_lazily((), {"colorsys": "rgb_to_hsv"})
    from colorsys import rgb_to_hsv

    assert "hsv_to_rgb" not in vars(sys.modules["colorsys"])
    assert rgb_to_hsv(1, 0, 0) == (0, 1, 1)
    assert "hsv_to_rgb" in vars(sys.modules["colorsys"])


def test_a_late_module_that_is_not_there_raises_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "no_such_library", raising=False)
    load_lazily(("no_such_library",))
    module = sys.modules["no_such_library"]
    with pytest.raises(ModuleNotFoundError):
        module.anything  # noqa: B018


@pytest.mark.parametrize("flags", [[], ["-s"], ["-S", "-s"]])
def test_a_worker_is_given_what_is_for_it(flags: list[str]) -> None:
    arguments = [*flags, "package.worker", "--gcs-address=a:1", "--language=PYTHON", "--serialized-runtime-env-context={}", "--x"]
    assert module_and_arguments(arguments) == ("package.worker", ["--gcs-address=a:1", "--x"])


def test_the_actor_of_a_host_has_the_methods_that_it_is_made_with() -> None:
    _, *methods = EXECD_ACTOR
    assert sorted(methods) == sorted(name for name in dir(ExecdActor) if not name.startswith("_"))


def test_ray_compares_pythons_as_the_qmaster_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose Python differs in its last number alone joins: the qmaster accepts it, and so does Ray."""
    for name, value in RAY_SETTINGS.items():
        monkeypatch.setenv(name, value)
    head = {"ray_version": ray.__version__, "python_version": f"{sys.version_info.major}.{sys.version_info.minor}.99"}
    check_version_info(head, "node h1")
    with pytest.raises(RuntimeError, match="Version mismatch"):
        check_version_info(head | {"python_version": "3.99.0"}, "node h1")
