"""Requests under an idempotency key: a repeated request is not carried out again, and gets the first answer.

Owns the rule: a key is private to its user and belongs to one request; a repetition waits while the request is being answered.
For a request in parts each part is recorded, in the transaction with its changes. A refusal changed nothing and is
decided again. Called by `endpoints`. Source: adr/0143.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from daemons.qmaster.decision import Receipt
from gridengine.protocols.gdi.requests import Answer, Caller, RequestBody

_BYTES = 16
_decode = msgspec.json.Decoder(Answer).decode
_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode  # a part may hold an `Unmatched`, which is text


class IdempotentRequest:
    """One request under its key. `earlier`: the recorded answers under that key."""

    def __init__(
        self, name: str, request: RequestBody, caller: Caller, key: str, earlier: list[tuple[Receipt, bytes]]
    ) -> None:
        self._name, self._user, self._key = name, caller.user, key
        self._request = self._digest(request, 0)
        self._known = {receipt.part: _decode(answer) for receipt, answer in earlier}
        self.is_for_other_request = any(receipt.request != self._request for receipt, _ in earlier)
        """Whether the key belongs to another request."""

    @property
    def answer(self) -> Answer | None:
        """The recorded answer to the whole request; None without a record, or if the request was carried out in parts."""
        return self._known.get(self._request)

    @property
    def receipt(self) -> Receipt:
        """For the transaction of the whole request."""
        return Receipt(self._user, self._key, self._request, self._request)

    def answer_of(self, part: RequestBody, number: int) -> Answer | None:
        """The recorded answer to a part, None without a record. `number`: of the part, from 0."""
        return self._known.get(self._digest(part, number))

    def receipt_of(self, part: RequestBody, number: int) -> Receipt:
        """For the transaction of a part."""
        return Receipt(self._user, self._key, self._request, self._digest(part, number))

    def _digest(self, part: RequestBody, number: int) -> bytes:
        return blake2b(_encode((self._name, number, part)), digest_size=_BYTES).digest()
