"""gethostname: this host, and the name under which the cell knows it. Source: O."""

import _socket
import sys

from clients.utilbin.host_lookup import FORMS, by_name, misused, show
from gridengine.standard_output import with_output_check


@with_output_check
def main() -> int:
    """`gethostname [-help|-name|-aname|-all]`."""
    words = sys.argv[1:]
    if len(words) > 1 or (words and words[0] not in FORMS):
        return misused("usage:\n gethostname [-help|-name|-aname|-all]\n\nget resolved hostname of this host")
    form = words[0] if words else ""
    return show(form, lambda: by_name(_socket.gethostname()), "local host", "host name")
