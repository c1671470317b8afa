"""Every text of the commands is in tests/data/messages.txt, where it was read once: `make messages` writes it."""

from __future__ import annotations

import ast

from tools.messages import TEXTS, all_texts, texts_of


def test_each_text_of_the_commands_was_read() -> None:
    kept, now = TEXTS.read_text().splitlines(), all_texts().splitlines()
    news = [line for line in now if line not in set(kept)]
    assert kept == now, f"new or gone texts: read them, then `make messages`; new: {news[:5]}"


def test_sentences_are_found_in_any_call() -> None:
    code = '''
answer.error(f"job {number} is not there", hint="say qstat to see all" if known else "")
raise AdminError("this cannot be done") from None
print("not one of these texts")
print_error(other("a text within a call"), "two words")
decision.answer.info("one two three\\n")
'''
    assert sorted(texts_of(ast.parse(code))) == [
        "job {…} is not there",
        "one two three\\n",
        "say qstat to see all",
        "this cannot be done",
    ]
