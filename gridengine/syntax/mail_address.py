"""Addresses for mail: what may stand in -M, in administrator_mail, and behind the mailer's options.

The rule is stricter than RFC 5322: mailers take `|program`, `/file`, `+folder`, `-option` and more for something else
than an address, and each of them differently. Called by the gate, and again when a letter is sent.

    address = local [ "@" domain ]
    local   = (letter | digit | "_") { letter | digit | any of "_.+-=%" }
    domain  = (letter | digit) { letter | digit | any of ".-" }
"""

from __future__ import annotations

import re

from gridengine.errors import SyntaxFault

#: bytes of an address: 64 and 255 of RFC 5321 section 4.5.3.1, and the `@`
LONGEST = 320
_ADDRESS = re.compile(r"\w[\w.+=%-]*(@[^\W_]([^\W_]|[.-])*)?")


def check_mail_address(text: str) -> str:
    """The address itself. Raises SyntaxFault. Source: sge_submit(1) -M `user[@host]`; SO-19."""
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise SyntaxFault(f"a mail address must not be longer than {LONGEST} bytes")
    if not _ADDRESS.fullmatch(text):
        raise SyntaxFault(f"{text!a} is no mail address: a user name, or local@domain")
    return text
