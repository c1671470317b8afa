"""Addresses for mail, and texts that a mailer could take for something else."""

from __future__ import annotations

import pytest

from gridengine.errors import InvalidValueError
from gridengine.syntax.mail_address import MAX_ADDRESS_BYTES, check_mail_address


@pytest.mark.statement("SO-19")
@pytest.mark.parametrize(
    "text", ["alice", "alice@h1", "a.b+c=d%e-f@mail.example.com", "_apt", "4711", "müller@münchen.de", "a" * MAX_ADDRESS_BYTES]
)
def test_addresses(text: str) -> None:
    assert check_mail_address(text) == text


@pytest.mark.statement("SO-19")
@pytest.mark.parametrize(
    "text",
    [
        "|/home/alice/x.sh", "/tmp/x", ".x", "+folder", "-f/etc/passwd", "~root", "%root", "&", "#", "=x",
        "a/b", "a@b/c", "a@b|c", "a`id`@b", "$(id)", "a;b", "a,b", "a b", "a\nb", "a\x00b", "a\x9bb", "a\u202eb",
        "", "@", "a@", "@b", "a@b@c", "a@-b", "a@.b", "a@_b", "file://x", ":include:/x", '"|x"@b', "<a@b>", "a\n",
        "a" * (MAX_ADDRESS_BYTES + 1), "\ud800",
    ],
)
def test_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="mail address"):
        check_mail_address(text)
