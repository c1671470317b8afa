"""Exceptions for invalid input of people, and the exit codes of commands.

Owns the exception types of the pure core and the exit codes of Grid Engine's commands.
Must not import anything outside of the standard library, nor anything slow: clients load it.
Called by every module of `gridengine`; the qmaster turns these into responses, clients into lines on stderr.
"""

EXIT_OK = 0
EXIT_FAILED = 1
#: a limit of sge_conf(5) (max_u_jobs, max_jobs, max_advance_reservations) was reached (X-10)
EXIT_LIMIT = 25
#: qsub -sync: the job was deleted or never ran
EXIT_SYNC_FAILED = 100


class GridEngineError(Exception):
    """The root of this project's exceptions."""


class UserError(GridEngineError):
    """A mistake in the input of a person. `exit_status`: of the command."""

    exit_status = EXIT_FAILED


class RefusalError(GridEngineError):
    """A request that its receiver refuses; the text is the reason. The same request is refused again."""


class UnavailableError(GridEngineError):
    """A program, host or disk that cannot be used now. The same request may succeed later."""


class CorruptDataError(GridEngineError):
    """Data of a file or message that does not have its format."""


class InvalidValueError(UserError, ValueError):
    """A value that does not follow its grammar. `str(error)` is the reason, without the attribute's name."""


class ConfigError(UserError):
    """A configuration object that is refused.

    kind: kind of the object (`cluster_queue`); name: its name or "" when unknown; attribute: the attribute at
    fault or "" when the object as a whole is; reason: a clause without the names; line: line of the file, 0 if none.
    """

    def __init__(self, kind: str, name: str, attribute: str, reason: str, line: int = 0) -> None:
        self.kind = kind
        self.name = name
        self.attribute = attribute
        self.reason = reason
        self.line = line
        super().__init__(self.message())

    def message(self) -> str:
        """One line for the user: where, which object, which attribute, why."""
        location = f"line {self.line}: " if self.line else ""
        subject = self.kind.replace("_", " ")
        if self.name:
            subject += f' "{self.name}"'
        attribute = f', attribute "{self.attribute}"' if self.attribute else ""
        return f"{location}{subject}{attribute}: {self.reason}"

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[str, str, str, str, int]]:
        return ConfigError, (self.kind, self.name, self.attribute, self.reason, self.line)


def plain_fault(error: BaseException) -> str:
    """The message of an exception, for people: system errors as `FILE: No space left on device`, without their numbers."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error) or type(error).__name__
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
