"""The reason why a call of another daemon failed, in plain words: Ray's own texts are for programmers."""

from __future__ import annotations

import pytest
from ray import exceptions

from daemons.runtime.call_faults import NotServing, describe_call_fault


class Remote(exceptions.RayTaskError):
    """As Ray raises what the other side raised."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (exceptions.ActorDiedError(), "its process has ended"),
        (exceptions.ActorUnavailableError("rpc error\n\x1b[36mmuch", b"x" * 16), "its process does not answer at the moment"),
        (exceptions.NodeDiedError("long"), "its node has ended"),
        (exceptions.ObjectLostError("ab", b"", ""), "the node of this host does not answer"),
        (Remote(NotServing("this host is not the master at the moment")), "this host is not the master at the moment"),
        (Remote(KeyError("no such thing")), "it failed: KeyError: 'no such thing'"),
        (TimeoutError(), "no answer in time"),
        (LookupError("it has not joined\nand more"), "it has not joined"),
    ],
)
def test_each_is_one_plain_line(error: Exception, text: str) -> None:
    assert describe_call_fault(error) == text


def test_every_name_is_one_of_ray() -> None:
    from daemons.runtime.call_faults import REASONS

    assert [name for name in REASONS if not hasattr(exceptions, name)] in ([], ["RaySerializationError"])
