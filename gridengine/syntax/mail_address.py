"""Mail addresses that are allowed in -M, in administrator_mail, and behind the mailer's options.

The rule is stricter than RFC 5322: mailers give `|program`, `/file`, `+folder`, `-option` and other texts a special meaning, and
each mailer a different one. Called by the gate, and again when a mail message is sent.

    address = local [ "@" domain ]
    local   = (letter | digit | "_") { letter | digit | any of "_.+-=%" }
    domain  = (letter | digit) { letter | digit | any of ".-" }
"""

from __future__ import annotations

import re

from gridengine.errors import InvalidValueError

#: bytes of an address: 64 and 255 of RFC 5321 section 4.5.3.1, and the `@`
MAX_ADDRESS_BYTES = 320
_ADDRESS = re.compile(r"\w[\w.+=%-]*(@[^\W_]([^\W_]|[.-])*)?")


def check_mail_address(text: str) -> str:
    """The address itself. Raises InvalidValueError. Source: sge_submit(1) -M `user[@host]`; SO-19."""
    if len(text.encode("utf-8", "replace")) > MAX_ADDRESS_BYTES:
        raise InvalidValueError(f"a mail address must not be longer than {MAX_ADDRESS_BYTES} bytes")
    if not _ADDRESS.fullmatch(text):
        raise InvalidValueError(f"{text!a} is no mail address: a user name, or local@domain")
    return text
