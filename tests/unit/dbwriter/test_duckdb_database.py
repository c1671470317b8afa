"""Questions to DuckDB that take too long."""

from __future__ import annotations

import pytest

from daemons.dbwriter.database import DatabaseFault, open_database


@pytest.mark.parametrize("patience_s", [0.0, 0.1])
def test_a_question_ends_when_its_time_is_over_also_before_it_has_begun(patience_s: float) -> None:
    database = open_database("duckdb::memory:")
    try:
        with pytest.raises(DatabaseFault, match="no answer within 0 s: ask for less"):
            database.ask("SELECT sum(a.range ^ b.range) FROM range(1000000) a, range(1000000) b", (), 10, patience_s)
    finally:
        database.close()
