"""Extensions that need libraries which the core does not have.

Owns the libraries of each extension, and the sentence about a missing library. Light: it loads none of them. Called by the
programs of extensions. Source: adr/0185; pyproject.toml has the same libraries with their versions.
"""

import sys

from gridengine.errors import UnavailableError

#: extension -> its libraries as pip names them
LIBRARIES = {
    "api": ("cloudpickle",),
    "arco": ("duckdb", "matplotlib", "psycopg[binary]", "pytz"),
    "devices": ("nvidia-ml-py",),
    "simulate": ("matplotlib",),
    "web": ("jinja2", "prometheus-client"),
}
_MODULES = {"nvidia-ml-py": "pynvml"}
"""Library -> the module that it brings, where its name differs."""


class MissingLibraryError(UnavailableError):
    """An extension is used without its libraries; the text is the sentence for the user."""


def missing_libraries(extension: str) -> str:
    """The sentence about the libraries of an extension that this Python lacks, with the command for them; "" for none."""
    from importlib.util import find_spec

    missing = [name for name in LIBRARIES[extension] if find_spec(_module_of(name)) is None]
    if not missing:
        return ""
    packages = " ".join(f"'{name}'" if "[" in name else name for name in missing)
    libraries = "the library" if len(missing) == 1 else "the libraries"
    names = ", ".join(map(_module_of, missing))
    return f"the extension {extension} needs {libraries} {names}, which {sys.executable} lacks: pip install {packages}"


def require_libraries(extension: str) -> None:
    """Raise MissingLibraryError if this Python lacks a library of an extension."""
    if sentence := missing_libraries(extension):
        raise MissingLibraryError(sentence)


def _module_of(library: str) -> str:
    if library in _MODULES:
        return _MODULES[library]
    return library.partition("[")[0].replace("-", "_")
