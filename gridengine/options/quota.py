"""Options of qquota. Source: qquota(1); statement RQ-7.

Owns the rows, which fill the body of the part `quotas` of the reading request `status` (docs/gdi.md).
"""

from gridengine.options import fields as fold
from gridengine.options.option import Option

QUOTA_OPTIONS: tuple[Option, ...] = (
    Option("-h", "wc_host_list...", "qquota", fold.names, "hosts", "rules for these hosts or host groups"),
    Option("-help --help", "", "qquota", fold.flag, "help", "print this help"),
    Option("-json", "", "qquota", fold.flag, "json", "print JSON"),
    Option("-l", "resource_name_list...", "qquota", fold.names, "resources", "limits of these resources"),
    Option("-P", "wc_project_list...", "qquota", fold.names, "projects", "rules for these projects"),
    Option("-pe", "wc_pe_list...", "qquota", fold.names, "pes", "rules for these parallel environments"),
    Option("-q", "wc_cqueue_list...", "qquota", fold.names, "queues", "rules for these cluster queues"),
    Option("-u", "user_list...", "qquota", fold.names, "users", "rules for these users, * for all; yourself if left out"),
    Option("-xml", "", "qquota", fold.flag, "xml", "print XML"),
)
