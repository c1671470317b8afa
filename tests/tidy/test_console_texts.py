"""The texts of the web console are in one table, tests/data/console_texts.txt, which `make messages` writes."""

from __future__ import annotations

import ast
import re

from tools.console_texts import TABLE, all_texts, texts_of_code, texts_of_template

#: names with capital letters: of programs, and of pages and buttons that a sentence leads to
NAMES = {"Grid", "Engine", "Accounting", "History", "Show"}
#: words that readers of the console stumbled over, with the field's words in their place
UNUSUAL = {
    "unheard": "unreachable", "wants a hand": "needs attention", "closed for now": "temporarily unavailable",
    "its story": "event log", "put aside": "disabled", "his": "their", "her": "their", "everybody": "all users",
}  # fmt: skip


def shown_texts() -> list[str]:
    return [line for line in TABLE.read_text().splitlines() if line and not line.startswith("# ")]


def test_each_text_of_the_console_was_read() -> None:
    kept, now = TABLE.read_text().splitlines(), all_texts().splitlines()
    news = [line for line in now if line not in set(kept)]
    assert kept == now, f"new or gone texts: read them, then `make messages`; new: {news[:5]}"


def test_texts_are_in_sentence_case() -> None:
    found = []
    for text in shown_texts():
        for sentence in re.split(r"[.:?!;,(]\s*|\{…\}|[\"'*/]", text):
            found += [(part, text) for part in sentence.split()[1:] if re.match("[A-Z][a-z]+", part) and part not in NAMES]
    assert found == []


def test_texts_have_the_terms_of_the_field() -> None:
    found = [(unusual, text) for text in shown_texts() for unusual in UNUSUAL if re.search(rf"\b{unusual}\b", text.lower())]
    assert found == []


def test_texts_are_found_in_templates_and_code() -> None:
    page = '{# - #}<h1 title="Its name">Job {{ number }} · {{ name }}</h1>{{ ui.head("All jobs") }}{% if a %}No.{% endif %}'
    assert texts_of_template(page) == {"Its name", "Job {…} · {…}", "All jobs", "No."}
    code = '''
def f():
    """A docstring of a function."""
    _log.warning("A line of the log")
    return {"ETag": "key", "text": f"There is no job {number}"}, "Delete", "owner", "Cache-Control"
'''
    assert texts_of_code(ast.parse(code)) == {"There is no job {…}", "Delete"}
