"""Docstrings name things: the share of sentences that lean on a pronoun only falls. `make prose` shows them."""

from __future__ import annotations

import pytest

from tools.prose import PROGRAMS, leaning_share, pronouns_in, sentences_below, sentences_of

#: the shares of today; lower them when they have fallen
LIMITS = {PROGRAMS: 0.02, ("tests",): 0.075}


@pytest.mark.parametrize(("directories", "limit"), LIMITS.items())
def test_the_share_of_leaning_sentences_only_falls(directories: tuple[str, ...], limit: float) -> None:
    assert leaning_share(sentences_below(directories)) <= limit


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
