"""The error of the admin program: a sentence for its user, and exit code 1.

Raised anywhere in `clients.admin`, caught in `__main__`.
"""
from gridengine.errors import UserError


class AdminError(UserError):
    """A request that cannot be fulfilled; the text names the fault and its location."""
