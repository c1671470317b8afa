"""The one way in which the admin program gives up: a sentence for the person who called it, and exit code 1.

Raised anywhere in `clients.admin`, caught in `__main__`.
"""


class Refusal(Exception):
    """What was asked cannot be done; the text says what is wrong and where."""
