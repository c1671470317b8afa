"""The list of statements that no test cites: the definition of a statement and of a citation."""

from __future__ import annotations

from tools.statements import cited, statements


def test_statements_are_found_by_section():
    text = "## 0. Traps\n| X-1 | a |\n### 1.1 Queues (CQ)\n- CQ-1 A.\n- CQ-2 B.\n- not one\n## 2. Empty\n"
    assert statements(text) == {"0. Traps": ["X-1"], "1.1 Queues (CQ)": ["CQ-1", "CQ-2"]}


def test_decorators_and_module_marks_cite_comments_do_not():
    source = (
        'pytestmark = pytest.mark.statement("CQ-1")\n'
        '@pytest.mark.statement("CQ-2", "CQ-3")\ndef test_x(): pass\n# pytest.mark.statement("CQ-4")\n'
    )
    assert sorted(cited(source)) == ["CQ-1", "CQ-2", "CQ-3"]


def test_starred_lists_of_ids_cite():
    source = '@pytest.mark.statement("CQ-1", *("CQ-2", "CQ-3"), *["CQ-4"])\ndef test_x(): pass\n'
    assert sorted(cited(source)) == ["CQ-1", "CQ-2", "CQ-3", "CQ-4"]
