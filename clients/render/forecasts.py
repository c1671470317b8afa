"""Lines and JSON of `qexplain -priority`, `-when` and `-duration`, and of `gridengine policy explain`.

Owns the texts around the figures of the request `forecast` (docs/gdi.md).
"""

from gridengine.values.quantities import iso_date

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Fields = dict[str, Any]


def start_lines(job: "Fields", whole: bool = True) -> "Iterator[str]":
    """The expected start of a job; `whole`: with its basis."""
    head, earliest, latest, later_than = _head(job), job["earliest"], job["latest"], job["later_than"]
    texts = job["texts"]
    if not earliest and not later_than:
        if len(texts) == 1:
            yield f"{head}: {texts[0]}"
            return
        yield f"{head}: the start is not known"
    elif not earliest:
        yield f"{head} starts later than {iso_date(later_than)}"
    elif latest and latest - earliest < 1:
        yield f"{head} is expected to start at {iso_date(earliest)}"
    elif latest:
        yield f"{head} is expected to start between {iso_date(earliest)} and {iso_date(latest)}"
    else:
        yield f"{head} is expected to start at {iso_date(earliest)} or later"
    for text in texts if whole else ():
        yield f"  {text}"


def expected_range(job: "Fields") -> str:
    """The expected start of a job in a word or two, "" if it is not known."""
    earliest, latest = job["earliest"], job["latest"]
    if not earliest:
        return f"after {iso_date(job['later_than'])}" if job["later_than"] else ""
    if not latest:
        return f"{iso_date(earliest)} or later"
    return iso_date(earliest) if latest - earliest < 1 else f"{iso_date(earliest)} - {iso_date(latest)}"


def calibration_lines(classes: "list[Fields]") -> "Iterator[str]":
    """The outcome of forecasts, a line for each class of expected waits."""
    if not any(row["count"] or row["waiting"] for row in classes):
        yield "no range has been compared with a start yet: the cell learns ranges from the starts of its jobs"
        return
    heads = f"{'started':>8} {'in range':>9} {'earlier':>8} {'later':>8} {'range':>10} {'wait':>10} {'pending':>8}"
    yield f"{'expected wait':<16} {heads}"
    for before, row in zip([None, *classes[:-1]], classes, strict=True):
        reach = f"up to {_seconds(row['up_to'])}" if row["up_to"] else f"over {_seconds(before['up_to'])}" if before else "all"
        if row["count"]:
            parts = f"{row['within']:9.1%} {row['early']:8.1%} {row['late']:8.1%}"
            times = f"{_seconds(row['width']):>10} {_seconds(row['wait']):>10}"
        else:
            parts, times = f"{'-':>9} {'-':>8} {'-':>8}", f"{'-':>10} {'-':>10}"
        yield f"{reach:<16} {row['count']:>8} {parts} {times} {row['waiting']:>8}"


def duration_lines(job: "Fields") -> "Iterator[str]":
    """The likely run time of a job."""
    head, found = _head(job), job["estimate"]
    if found is None:
        few = f"nothing is learned from {job['learned_from']} ended tasks"
        yield f"{head}: {few}" if not job["elapsed"] else f"{head}: {few} that ran longer than {_seconds(job['elapsed'])}"
    else:
        usual, low, high = _seconds(found["usual"]), _seconds(found["low"]), _seconds(found["high"])
        yield f"{head} is likely to run for {usual}: eight of ten between {low} and {high}"
        yield f"  learned from {found['count']} {found['basis']}"
    if job["elapsed"]:
        yield f"  it has run for {_seconds(job['elapsed'])}"
    yield f"  its limit (h_rt) is {_seconds(job['limit'])}" if job["limit"] else "  it has no limit (h_rt)"


def order_lines(job: "Fields") -> "Iterator[str]":
    """The priority of a job term by term, the jobs before it, and changes of its place."""
    if job["texts"]:
        yield f"{_head(job)} has no place among the pending jobs:"
        for text in job["texts"]:
            yield f"  {text}"
        return
    place = f"place {job['place']} of {job['of']} pending jobs" if job["place"] else "running"
    yield f"{_head(job)}: {place}, priority {job['priority']:.5f}"
    for term in job["terms"]:
        product = f"{term['value']:.5f} x weight {term['weight']:g} = {term['part']:.5f}"
        yield f"  {term['term']:<9} {product:<38} {term['formula']}"
    urgency, tickets = job["urgency"], job["tickets"]
    yield f"  urgency {urgency['total']:g}"
    yield from _indented(urgency["texts"])
    policies = f"override {tickets['override']:g}, functional {tickets['functional']:g}, share tree {tickets['share']:g}"
    yield f"  tickets {tickets['total']:g}: {policies}"
    yield from _indented(tickets["texts"])
    if job["before_count"]:
        yield f"  before it: {job['before_count']}, the nearest first"
    for other in job["before"]:
        by = "it was submitted earlier" if other["term"] == "submission" else f"{other['term']} +{other['difference']:.5f}"
        yield f"       {_head(other)}, {other['priority']:.5f}: {by}"
    for change in job["changes"]:
        right = " (by an operator)" if change["by"] == "operator" else ""
        yield f"  qalter {change['options']} {job['id']}{right} would put it at place {change['place']}"


def overview_lines(order: "Fields") -> "Iterator[str]":
    """The weights, and the first pending jobs with the parts of their priorities."""
    weights, tickets = order["weights"], order["tickets"]
    terms = " + ".join(f"{weight:g} x {name}" for name, weight in weights.items())
    yield f"priority = {terms}"
    shares = f"functional {tickets['functional']}, share tree {tickets['share']}"
    yield f"tickets: {shares}; policy_hierarchy {tickets['hierarchy']}"
    if order["first"]:
        yield f"{'place':>5} {'job-ID':>8} {'owner':<12} {'prior':>8} {'priority':>9} {'urgency':>9} {'tickets':>9} name"
    for row in order["first"]:
        parts = " ".join(f"{row['parts'][name]:9.5f}" for name in weights)
        yield f"{row['place']:>5} {row['id']:>8} {row['owner']:<12} {row['priority']:8.5f} {parts} {row['name']}"
    if order["pending"] > len(order["first"]):
        yield f"and {order['pending'] - len(order['first'])} more"
    if not order["pending"]:
        yield "no pending job may start"


def forecasts_json(data: "Fields") -> "Fields":
    """The same for programs: names of times end in _s, missing times are null."""
    return {"jobs": [_job_json(job) for job in data["jobs"]], "unknown": data["unknown"]}


def _job_json(job: "Fields") -> "Fields":
    found = {"job_id": job["id"], **{name: value for name, value in job.items() if name != "id"}}
    for name in ("expected", "earliest", "latest", "later_than", "elapsed", "limit"):
        if name in found:
            found[f"{name}_s"] = found.pop(name) or None
    if isinstance(found.get("before"), list):
        found["before"] = [_job_json(other) for other in found["before"]]
    if found.get("estimate"):
        times = {f"{name}_s": found["estimate"][name] for name in ("low", "usual", "high")}
        found["estimate"] = {**times, "count": found["estimate"]["count"], "basis": found["estimate"]["basis"]}
    return found


def _head(job: "Fields") -> str:
    return f'job {job["id"]} ("{job["name"]}") of {job["owner"]}'


def _indented(texts: "list[str]") -> "Iterator[str]":
    for text in texts:
        yield f"       {text}"


def _seconds(seconds: float) -> str:
    """A duration as `1:02:03`."""
    whole = int(seconds + 0.5)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
