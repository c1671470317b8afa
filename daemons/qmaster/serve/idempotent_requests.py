"""Requests under an idempotency key: what was carried out is not carried out again, and is answered as it was.

Owns the rule: a key is its user's own, belongs to one request, and what is asked under it while it is being answered waits for
that. Of a request in parts each part is remembered, in the transaction of what it changed. A refusal changed nothing and is
decided anew. Called by `endpoints`. Source: adr/0143.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from daemons.qmaster.spooling.answer_table import Receipt
from gridengine.gdi.requests import Answer, Caller, RequestBody

_BYTES = 16
_decode = msgspec.json.Decoder(Answer).decode
_encode = msgspec.json.Encoder(order="deterministic", enc_hook=str).encode  # a part may hold an `Unmatched`, which is text


class IdempotentRequest:
    """One request under its key. `earlier`: what was answered under that key already."""

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
        """What the whole was answered, None if it was not, or was in parts."""
        return self._known.get(self._request)

    @property
    def receipt(self) -> Receipt:
        """For the transaction that does the whole."""
        return Receipt(self._user, self._key, self._request, self._request)

    def answer_of(self, part: RequestBody, number: int) -> Answer | None:
        """What a part was answered, None if it was not. `number`: its place, from 0."""
        return self._known.get(self._digest(part, number))

    def receipt_of(self, part: RequestBody, number: int) -> Receipt:
        """For the transaction that does a part."""
        return Receipt(self._user, self._key, self._request, self._digest(part, number))

    def _digest(self, part: RequestBody, number: int) -> bytes:
        return blake2b(_encode((self._name, number, part)), digest_size=_BYTES).digest()
