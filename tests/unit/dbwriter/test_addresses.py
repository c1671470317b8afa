"""Addresses of databases hold passwords, and all users can read logs and answers of sge_dbwriter."""

from __future__ import annotations

import pytest

from daemons.dbwriter.database import SchemaError
from daemons.dbwriter.opening import open_database

GOOD = "postgresql://arco:good@127.0.0.1:1/arco"


@pytest.mark.parametrize(
    ("address", "reader"),
    [
        ("postgress://arco:secret@db/arco", ""),
        ("postgresql://arco:se cret@db/arco", ""),
        ("postgresql://arco:%zzsecret@db/arco", ""),
        (GOOD, "postgresql://reader:se cret@db/arco"),
        (GOOD, "host=db password='secret"),
    ],
)
def test_an_invalid_address_is_not_shown(address: str, reader: str) -> None:
    with pytest.raises(SchemaError) as fault:
        open_database(address, reader)
    message = str(fault.value)
    assert "cret" not in message and message.startswith("reader:" if reader else "database"), message
