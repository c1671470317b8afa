"""Docstrings name things: the share of sentences that lean on a pronoun only falls. `make prose` shows them."""

from __future__ import annotations

import pytest

from tools.prose import leaning_share, product_sentences, pronouns_in, sentences_of

#: the share of today; lower it when it has fallen
LIMIT = 0.02


def test_the_share_of_leaning_sentences_only_falls() -> None:
    assert leaning_share(product_sentences()) <= LIMIT


@pytest.mark.parametrize(
    ("sentence", "pronouns"),
    [
        ("What nobody asked for.", ["what", "nobody"]),
        ("Resolve waiters whose revision is committed.", []),
        ("For whom it is written, and who reads it.", ["whom", "who"]),
        ("Users who have jobs.", []),
        ("It follows; it leads.", ["it", "it"]),
        ("The largest of those that fit, and those jobs.", ["those"]),
        ("One line each, one of three; the last one.", ["one"]),
        ("Slots, and that of the host.", ["that"]),
        ("Which parts have turned.", ["which"]),
        ("A lock that `what` holds.", []),
    ],
)
def test_the_rule(sentence: str, pronouns: list[str]) -> None:
    assert pronouns_in(sentence) == pronouns


def test_sentences_come_from_docstrings_of_fields_too() -> None:
    text = '"""Head. Tail."""\nlimit = 1\n"""Bytes."""\ndef f():\n    """Do it.\n\n    Source: qsub(1)"""\n'
    assert [each.text for each in sentences_of("clients/x.py", text)] == ["Head.", "Tail.", "Bytes.", "Do it."]
