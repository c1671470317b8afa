"""The global configuration and the local configurations of hosts.

Owns the parameters of sge_conf(5), their checks and defaults, the list of parameters that a host may override, and the known
keys of qmaster_params, execd_params and reporting_params. Called through `gridengine.config.KINDS`.
Source: GC-1..4, US-5..7, RP-2; O for order and print form (lower-case `none`).
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import PrivateAttr

from gridengine.config.attribute_types import (
    AttributeType,
    Check,
    Reference,
    TypedCheck,
    absolute_path,
    boolean,
    choice,
    command_with,
    finite_time,
    form_of,
    given,
    name_list,
    none_or,
    number,
    object_name,
    ranges,
    refers_to,
    time,
    typed,
)
from gridengine.config.command_variables import PROCEDURE_VARIABLES
from gridengine.config.objects import ConfigObject
from gridengine.config.parameters import (
    KNOWN_PARAMETERS,
    REPORTING_PARAMETERS,
    REPORTING_TIMES,
    check_parameters,
    parse_parameters,
    unknown_parameters,
)
from gridengine.errors import ConfigError, InvalidValueError
from gridengine.jsv.conversation import verifier_path
from gridengine.syntax.lists import check_host_name, is_none, split_names
from gridengine.syntax.mail_address import check_mail_address
from gridengine.syntax.object_file import Entry

GLOBAL = "global"
#: parameters that a host's local configuration may set
LOCAL = frozenset(
    "execd_spool_dir mailer xterm load_sensor prolog epilog user_lists xuser_lists load_report_time reschedule_unknown "
    "set_token_cmd pag_cmd token_extend_time shepherd_cmd execd_params gid_range qlogin_command qlogin_daemon "
    "rlogin_command rlogin_daemon rsh_command rsh_daemon libjvm_path additional_jvm_args".split()
)


@typed("text", "none")
def _text(text: str) -> str:
    return "none" if is_none(given(text)) else text.strip()


@typed("names", "none")
def _token_list(text: str) -> str:
    return ",".join(split_names(given(text))) or "none"


@typed("names", "none")
def _sensors(text: str) -> str:
    """Absolute paths of programs, or none. Source: sge_conf(5) load_sensor."""
    paths = _token_list(text)
    for path in () if is_none(paths) else paths.split(","):
        absolute_path(path)
    return paths


@typed("names", "none")
def _addresses(text: str) -> str:
    """Mail addresses, or none. Source: sge_conf(5) administrator_mail."""
    addresses = _token_list(text)
    for address in () if is_none(addresses) else addresses.split(","):
        check_mail_address(address)
    return addresses


@typed("command", "builtin", "none")
def _remote_command(text: str) -> str:
    """builtin, none or a command line."""
    return _keyword_or_path(text, ("builtin", "none"))


@typed("command", "builtin")
def _remote_daemon(text: str) -> str:
    return _keyword_or_path(text, ("builtin",))


def _keyword_or_path(text: str, keywords: Sequence[str]) -> str:
    if given(text).lower() in keywords:
        return text.lower()
    return absolute_path(text)


@typed("text", "none")
def _jsv_url(text: str) -> str:
    """none or [script:][user@]/path (sge_types(5) jsv_url)."""
    if is_none(given(text)):
        return "none"
    absolute_path(verifier_path(text)[1])
    return text


@typed("choice", "auto", "true", "false")
def _enforce_user(text: str) -> str:
    return "auto" if given(text).lower() == "auto" else boolean(text).lower()


@typed("pairs", "none")
def _parameters(text: str) -> str:
    return check_parameters(given(text))


@typed("pairs", "none")
def _reporting_parameters(text: str) -> str:
    """Parameters with a valid value each. Source: sge_conf(5) reporting_params; RP-2, AC-4."""
    checked = _parameters(text)
    for key, value in parse_parameters(checked).items():
        check = finite_time if key in REPORTING_TIMES else boolean if key in REPORTING_PARAMETERS else str
        try:
            check(value)
        except InvalidValueError as fault:
            raise InvalidValueError(f"{key.lower()}: {fault}") from None
    return checked


@typed("boolean", "true", "false")
def _flag(text: str) -> str:
    return boolean(text).lower()


@typed("boolean", "1", "0")
def _reprioritize(text: str) -> str:
    return "1" if boolean(text) == "TRUE" else "0"


def _optional(check: Check) -> AttributeType:
    """For an attribute that may be unset: its text is empty then."""
    form = form_of(check)
    return AttributeType(TypedCheck(lambda text: check(text) if text else "", form.name, *form.constants))


_Path = Annotated[str, AttributeType(absolute_path)]
_PathOrNone = Annotated[str, AttributeType(none_or(absolute_path, none="none"))]
_Procedure = Annotated[str, AttributeType(none_or(command_with(PROCEDURE_VARIABLES), none="none"))]
_Text = Annotated[str, AttributeType(_text)]
_TokenList = Annotated[str, AttributeType(_token_list)]
_Count = Annotated[str, AttributeType(number())]
_Time = Annotated[str, AttributeType(finite_time)]
_Usersets = Annotated[str, AttributeType(name_list(separator=",", none="none"), refers_to("userset"))]
_Projects = Annotated[str, AttributeType(name_list(separator=",", none="none"), refers_to("project"))]
_Command = Annotated[str, AttributeType(_remote_command)]
_Daemon = Annotated[str, AttributeType(_remote_daemon)]


class Configuration(ConfigObject):
    """The configuration `global` or the configuration of a host. The file does not name it, so `parse` needs `name`.

    A global configuration has every parameter that is not optional: a parameter that a file lacks gets its default (O).
    A local configuration has only the parameters that it overrides.
    """

    kind: ClassVar[str] = "configuration"
    key: ClassVar[str] = ""
    optional = frozenset(("max_advance_reservations", "libjvm_path", "additional_jvm_args"))

    _name: str = PrivateAttr(default=GLOBAL)
    _local: frozenset[str] = PrivateAttr(default=frozenset())

    execd_spool_dir: _Path = "/var/spool/gridengine/execd"
    mailer: _PathOrNone = "/usr/bin/mail"
    xterm: _Path = "/usr/bin/xterm"
    load_sensor: Annotated[str, AttributeType(_sensors)] = "none"
    prolog: _Procedure = "none"
    epilog: _Procedure = "none"
    shell_start_mode: Annotated[str, AttributeType(choice("unix_behavior", "posix_compliant", "script_from_stdin"))] = (
        "posix_compliant"
    )
    login_shells: _TokenList = "bash,sh,ksh,csh,tcsh"
    min_uid: _Count = "0"
    min_gid: _Count = "0"
    user_lists: _Usersets = "none"
    xuser_lists: _Usersets = "none"
    projects: _Projects = "none"
    xprojects: _Projects = "none"
    enforce_project: Annotated[str, AttributeType(_flag)] = "false"
    enforce_user: Annotated[str, AttributeType(_enforce_user)] = "auto"
    load_report_time: _Time = "00:00:40"
    max_unheard: _Time = "00:05:00"
    reschedule_unknown: _Time = "00:00:00"
    loglevel: Annotated[str, AttributeType(choice("log_err", "log_warning", "log_info"))] = "log_warning"
    administrator_mail: Annotated[str, AttributeType(_addresses)] = "none"
    set_token_cmd: _Text = "none"
    pag_cmd: _Text = "none"
    token_extend_time: Annotated[str, AttributeType(none_or(time, none="none"))] = "none"
    shepherd_cmd: _PathOrNone = "none"
    qmaster_params: Annotated[str, AttributeType(_parameters)] = "none"
    execd_params: Annotated[str, AttributeType(_parameters)] = "none"
    reporting_params: Annotated[str, AttributeType(_reporting_parameters)] = (
        "accounting=true reporting=false flush_time=00:00:15 joblog=false sharelog=00:00:00"
    )
    finished_jobs: _Count = "100"
    gid_range: Annotated[str, AttributeType(none_or(ranges(100), none="none"))] = "65400-65500"
    qlogin_command: _Command = "builtin"
    qlogin_daemon: _Daemon = "builtin"
    rlogin_command: _Command = "builtin"
    rlogin_daemon: _Daemon = "builtin"
    rsh_command: _Command = "builtin"
    rsh_daemon: _Daemon = "builtin"
    max_aj_instances: _Count = "2000"
    max_aj_tasks: _Count = "75000"
    max_u_jobs: _Count = "0"
    max_jobs: _Count = "0"
    max_advance_reservations: Annotated[str, _optional(number())] = ""
    auto_user_oticket: _Count = "0"
    auto_user_fshare: _Count = "0"
    auto_user_default_project: Annotated[
        str, AttributeType(none_or(object_name, none="none"), refers_to("project"))
    ] = "none"
    auto_user_delete_time: _Count = "86400"
    delegated_file_staging: Annotated[str, AttributeType(_flag)] = "false"
    reprioritize: Annotated[str, AttributeType(_reprioritize)] = "0"
    jsv_url: Annotated[str, AttributeType(_jsv_url)] = "none"
    jsv_allowed_mod: _TokenList = "ac,h,i,e,o,j,M,N,p,w"
    libjvm_path: Annotated[str, _optional(_text)] = ""
    additional_jvm_args: Annotated[str, _optional(_text)] = ""

    @property
    def object_name(self) -> str:
        """`global` or the name of a host."""
        return self._name

    @property
    def is_global(self) -> bool:
        """Whether it is the configuration of the whole cluster."""
        return self._name == GLOBAL

    @classmethod
    def parse(
        cls, entries: Sequence[Entry], *, complete: bool = True, name: str = GLOBAL, warnings: list[str] | None = None
    ) -> Self:
        """The configuration of this name. `complete` has no effect: a missing parameter has its default or is not overridden."""
        shown = name or GLOBAL
        if shown != GLOBAL:
            try:
                shown = check_host_name(shown)
            except InvalidValueError as fault:
                raise ConfigError(cls.kind, name, "", str(fault)) from None
            for written, _, line in entries:
                if written in cls.model_fields and written not in LOCAL:
                    raise ConfigError(cls.kind, name, written, "only the global configuration may set it", line)
        made = super().parse(entries, complete=False, name=shown, warnings=warnings)
        made._name = shown
        made._local = frozenset(written for written, _, _ in entries) if shown != GLOBAL else frozenset()
        if warnings is not None:
            for attribute, known in KNOWN_PARAMETERS.items():
                unknown = unknown_parameters(getattr(made, attribute), known)
                warnings.extend(f'{attribute}: the parameter "{key}" is unknown and has no effect' for key in unknown)
        return made

    @classmethod
    def template(cls, name: str = GLOBAL) -> Self:
        """The default global configuration, or a local configuration that overrides nothing."""
        return cls.parse((), name=name)

    def attributes(self) -> dict[str, str]:
        """The parameters of the global configuration, or the parameters that a local configuration overrides."""
        every = super().attributes()
        return every if self.is_global else {name: text for name, text in every.items() if name in self._local}

    def _referred(self, required_only: bool) -> list[Reference]:
        types = self.attribute_types()
        found = [pair for name, text in self.attributes().items() for pair in types[name].refers(text)]
        return list(dict.fromkeys(found))
