"""The names of a job's fields in messages and listings for users: one row a field.

Owns the nouns of qalter, the parameters of verifiers and the form of their values, and the labels of purely descriptive fields.
Light enough for clients. Called by the qmaster's qalter, by `gridengine.jsv` and by qstat -j, qacct and their -json.
Source: sge_submit(1) (each option names its parameter), sge_jsv(1), SO-42; O for the nouns.
"""

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Literal

    Form = Literal["", "text", "number", "list", "switch", "paths", "date"]


class FieldName:
    """A field of `gridengine.protocols.gdi.requests.Submit`, or of `Changes`.

    `noun`: in qalter's message about the change, "" for fields with a message of their own or none. `parameter`: of the job
    submission verifier, and in jsv_allowed_mod; `form`: of its value, "" if `gridengine.jsv.parameters` formats it itself.
    `fixed`: stays as it was submitted. `label`: of a descriptive field: qstat -j and qacct -j show it when it is set.
    """

    __slots__ = ("fixed", "form", "label", "name", "noun", "parameter")

    def __init__(
        self, name: str, noun: str = "", parameter: str = "", form: "Form" = "", fixed: bool = False, label: str = ""
    ) -> None:
        self.name, self.noun, self.parameter, self.form = name, noun, parameter, form
        self.fixed, self.label = fixed, label


#: in the order of qalter's messages
FIELD_NAMES = (
    FieldName("start_after", "start time", "a", "date"),
    FieldName("deadline", "deadline initiation time", "dl", "date"),
    FieldName("account", "account", "A", "text"),
    FieldName("cwd", "working directory", "cwd", "text"),
    FieldName("checkpoint_when", "checkpoint attributes", "c"),
    FieldName("checkpoint", "checkpoint object", "ckpt", "text"),
    FieldName("stderr", "stderr path list", "e", "paths"),
    FieldName("stdin", "stdin path list", "i", "paths"),
    FieldName("reserve", "reservation behaviour", "R", "switch"),
    FieldName("merge", "output merge behaviour", "j", "switch"),
    FieldName("hard", "hard resource list", "l_hard", "list"),
    FieldName("soft", "soft resource list", "l_soft", "list"),
    FieldName("mail_options", "mail options", "m", "text"),
    FieldName("mail_list", "mail list", "M", "list"),
    FieldName("name", "job name", "N", "text"),
    FieldName("hold_jid", "job id hold list", "hold_jid", "list"),
    FieldName("hold_jid_ad", "job id hold array list", "hold_jid_ad", "list"),
    FieldName("hold_jid_ok", "job id hold list on success", "hold_jid_ok", "list"),
    FieldName("hold_jid_fail", "job id hold list on failure", "hold_jid_fail", "list"),
    FieldName("notify", "notify behaviour", "notify", "switch"),
    FieldName("stdout", "stdout path list", "o", "paths"),
    FieldName("pe", "parallel environment", "pe"),
    FieldName("pe_range", "slot range", "pe"),
    FieldName("allocation_rule", "allocation rule"),
    FieldName("hard_queues", "hard queue list", "q_hard", "list"),
    FieldName("soft_queues", "soft queue list", "q_soft", "list"),
    FieldName("master_queues", "master hard queue list", "masterq", "list"),
    FieldName("rerun", "restart behaviour", "r", "switch"),
    FieldName("shells", "shell list", "S", "paths"),
    FieldName("no_shell", "shell behaviour", "shell"),
    FieldName("environment", "environment", "v"),
    FieldName("environment_names", "", "v"),
    FieldName("args", "job arguments", "CMDARGS"),
    FieldName("project", "project", "P", "text"),
    FieldName("context_changes", "context", "ac"),
    FieldName("task_concurrency", "task concurrency", "tc", "number"),
    FieldName("binding", "binding", "binding"),
    FieldName("ar", "advance reservation", "ar", "number"),
    FieldName("comment", "comment", "comment", "text", label="comment"),
    FieldName("priority", "", "p", "number"),
    FieldName("job_share", "", "js", "number"),
    FieldName("override_tickets", "", "ot"),
    FieldName("holds", "", "h"),
    FieldName("binary", "", "b", "switch", fixed=True),
    FieldName("now", "", "now", "switch", fixed=True),
    FieldName("verify", "", "w", "text", fixed=True),
    FieldName("script", fixed=True),
    FieldName("script_encoding", fixed=True),
    FieldName("script_file", fixed=True),
    FieldName("kind", fixed=True),
    FieldName("tasks", fixed=True),
    FieldName("home", fixed=True),
    FieldName("login_shell", fixed=True),
    FieldName("submit_path", fixed=True),
    FieldName("submit_cwd", fixed=True),
)
LABELLED = tuple(field for field in FIELD_NAMES if field.label)
#: field of a request -> the parameter that names it in jsv_allowed_mod
PARAMETER_OF = {field.name: field.parameter for field in FIELD_NAMES if field.parameter}
