"""The templates of the pages: a single Jinja2 environment with filters, macros (`ui`) and addresses.

All values are escaped; an undefined name in a template is an error. Called by `pages/page.py`. The head of `base.html` lists the
data that the frame needs besides the data of a page.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from daemons.web import static_files
from daemons.web.pages import formats, navigation, states

_CACHED_MACROS = ("job_state", "instance_states", "reservation_state", "host_state", "time", "bar", "chip")
"""Macros with many equal calls in a list: their results are cached."""


@cache
def templates() -> Environment:
    """The environment, created once."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(formats.FILTERS)
    environment.globals.update(
        job_badge=states.job_badge,
        instance_badges=states.instance_badges,
        reservation_badge=states.reservation_badge,
        host_badge=states.host_badge,
        message_badge=states.message_badge,
        unreachable=states.UNREACHABLE,
        is_lost=states.is_lost,
        link=formats.link,
        parameters=formats.parameters,
        hidden_columns=formats.hidden_columns,
        navigation=navigation.NAVIGATION,
        entry_of=navigation.entry_of,
        go_keys=navigation.go_keys,
        static=static_files.url_of,
    )
    # not an import of each page: a block that is rendered alone does not see what its template has imported
    macros = environment.get_template("macros.html").module
    for name in _CACHED_MACROS:
        setattr(macros, name, lru_cache(4096, typed=True)(getattr(macros, name)))
    environment.globals["ui"] = macros
    environment.globals["lists"] = environment.get_template("lists.html").module
    environment.globals["offers"] = environment.get_template("offers.html").module
    environment.globals["changing"] = environment.get_template("changing.html").module
    environment.globals["options"] = environment.get_template("options.html").module
    environment.globals["attributes"] = environment.get_template("attributes.html").module
    return environment
