"""Where the pages' templates come from: one Jinja2 environment with the filters, macros (`ui`) and addresses that they use.

Everything is escaped; a name that a template uses and its page does not give is an error. Called by `pages/page.py`.
What `base.html` wants besides the data of a page stands at its head.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from daemons.web import static_files
from daemons.web.pages import formats, navigation, states

_REMEMBERED = ("job_state", "instance_states", "reservation_state", "host_state", "time", "bar", "chip")
"""Macros of which a list has many alike: what they gave once is given again."""


@cache
def templates() -> Environment:
    """The environment, made once."""
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
        navigation=navigation.NAVIGATION,
        place_of=navigation.place_of,
        static=static_files.url_of,
    )
    # not an import of each page: a block that is rendered alone does not see what its template has imported
    macros = environment.get_template("macros.html").module
    for name in _REMEMBERED:
        setattr(macros, name, lru_cache(4096, typed=True)(getattr(macros, name)))
    environment.globals["ui"] = macros
    environment.globals["changing"] = environment.get_template("changing.html").module
    environment.globals["options"] = environment.get_template("options.html").module
    return environment
