"""The search at the head of each page: jobs, hosts, cluster queues, and objects of the configuration. Source: GU-4.

The number of a job leads to the job.
"""

from __future__ import annotations

import re

from aiohttp import web

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.finished_jobs import finished_job
from daemons.web.job_rows import JobFilter
from daemons.web.pages.configuration import ROWS, matches
from daemons.web.pages.page import Data, Page, Visit
from daemons.web.pages.states import silent_hosts

_NUMBER = re.compile(r"([0-9]{1,7})(?:\.[0-9]{1,7})?", re.ASCII)


async def search(visit: Visit) -> Data:
    """All objects with the text `find` in their names. Raises HTTPSeeOther for the number of a job."""
    find = visit.parameter("find")
    if (number := _NUMBER.fullmatch(find)) and await _is_job(visit, int(number[1])):
        raise web.HTTPSeeOther(f"/jobs/{find}")
    state = visit.shared.mirror.state
    locations = []
    for noun, names, path in (
        ("host", [name for name in state.kind("exec_host") if name not in ("global", "template")], "/hosts/"),
        ("cluster queue", list(state.kind("cluster_queue")), "/queues/"),
        ("queue instance", list(state.instances), "/instances/"),
    ):
        locations += [(noun, name, path) for name in sorted(names) if find and find.lower() in name.lower()]
    objects = matches(state, re.compile(re.escape(find), re.IGNORECASE)) if find else []
    chosen = visit.shared.jobs.select_rows(JobFilter(find=find)) if find else None
    ended = visit.shared.jobs.select_rows(JobFilter(find=find, state="finished")).rows if find else ()
    jobs = [*chosen.rows, *ended] if chosen is not None else []
    return {
        "find": find, "jobs": jobs[:ROWS], "job_count": len(jobs), "silent": silent_hosts(state),
        "locations": locations[:ROWS], "location_count": len(locations),
        "objects": objects[:ROWS], "object_count": len(objects),
    }


async def _is_job(visit: Visit, number: int) -> bool:
    if number in visit.shared.mirror.state.jobs:
        return True
    try:
        return await finished_job(visit.shared, visit.caller, number) is not None
    except NoQmasterError:
        return False


PAGES = [Page("/search", "search.html", search)]
