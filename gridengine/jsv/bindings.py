"""The parameters binding_* of a verifier and the equivalent text of -binding.

Owns that translation. Called by `gridengine.jsv.parameters`. Source: sge_submit(1) -binding; SO-6, JV-3.
"""

from gridengine.errors import InvalidValueError

#: names in the order in which verifiers get them; binding_exp_socketN and binding_exp_coreN follow
BINDING = "binding_strategy binding_type binding_amount binding_step binding_socket binding_core binding_exp_n " + " ".join(
    f"binding_exp_socket{number} binding_exp_core{number}" for number in range(64)
)


def binding_parameters(text: str) -> dict[str, str]:
    """`set linear:2:1,0` and the like as parameters; {} for no binding."""
    if not text:
        return {}
    kind, _, rest = text.partition(" ")
    strategy, *parts = rest.split(":")
    found = {"binding_strategy": strategy, "binding_type": kind}
    if strategy == "explicit":
        found["binding_exp_n"] = str(len(parts))
        for number, pair in enumerate(parts):
            found[f"binding_exp_socket{number}"], found[f"binding_exp_core{number}"] = pair.split(",")
        return found
    counts = 1 if strategy == "linear" else 2
    found |= dict(zip(("binding_amount", "binding_step"), parts[:counts], strict=False))
    if parts[counts:]:
        found["binding_socket"], found["binding_core"] = parts[counts].split(",")
    return found


def binding_text(parameters: dict[str, str]) -> str:
    """The text of -binding for these parameters; "" without a strategy. Raises InvalidValueError."""
    strategy = parameters.get("binding_strategy", "").removesuffix("_automatic")
    if not strategy:
        return ""
    if strategy not in ("linear", "striding", "explicit"):
        raise InvalidValueError(f'binding_strategy "{strategy}" is not known')
    parts = [f"{parameters.get('binding_type') or 'set'} {strategy}"]
    if strategy == "explicit":
        for number in range(int(parameters.get("binding_exp_n") or 0)):
            pair = (parameters.get(f"binding_exp_{what}{number}", "0") for what in ("socket", "core"))
            parts.append(",".join(pair))
        return ":".join(parts)
    parts.append(parameters.get("binding_amount", ""))
    if strategy == "striding":
        parts.append(parameters.get("binding_step", "1"))
    if parameters.get("binding_socket") and not parameters["binding_strategy"].endswith("_automatic"):
        parts.append(f"{parameters['binding_socket']},{parameters.get('binding_core') or 0}")
    return ":".join(parts).rstrip(":")
