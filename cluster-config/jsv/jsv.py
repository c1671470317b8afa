"""Helper for job submission verifiers in Python: stands alone, so that a verifier may be run by any Python 3.

    #!/usr/bin/env python3
    import os, sys
    sys.path.insert(0, os.path.join(os.environ["SGE_ROOT"], "share", "jsv"))
    import jsv

    def verify(job):
        if job.params.get("N") == "bad":
            return job.reject("this name is not allowed")
        job.set_item("l_hard", "h_rt", "3600")
        return job.correct("a run time was set")

    jsv.main(verify, environment=False)

Parameters are named as in sge_submit(1). `environment=True` asks for the job's variables, in `job.env`.
"""

import sys

_WRITTEN = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_READ = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def _say(line):
    sys.stdout.write(line.rstrip(" ") + "\n" if line.startswith("RESULT") else line + "\n")


def _escape(value):
    return "".join(_WRITTEN.get(letter, letter) for letter in value)


def _unescape(value):
    text, rest = "", iter(value)
    for letter in rest:
        following = next(rest, "") if letter == "\\" else ""
        text += _READ.get(following, letter + following) if letter == "\\" else letter
    return text


class Job:
    """One job: `params` and `env` are what came; changes go through the methods and count with `correct` only."""

    def __init__(self):
        self.params = {}
        self.env = {}

    def set(self, name, value):
        """Set a parameter; "" takes it away."""
        self.params[name] = value
        _say(f"PARAM {name} {_escape(value)}")

    def delete(self, name):
        self.params.pop(name, None)
        _say(f"PARAM {name}")

    def items(self, name):
        """A list parameter such as l_hard or ac as a dict; a bare item has the value None."""
        pairs = (item.partition("=") for item in self.params.get(name, "").split(",") if item)
        return {key: value if equals else None for key, equals, value in pairs}

    def set_item(self, name, key, value=None):
        """Set one item of a list parameter, the others stay."""
        self._set_items(name, dict(self.items(name), **{key: value}))

    def delete_item(self, name, key):
        self._set_items(name, {other: value for other, value in self.items(name).items() if other != key})

    def _set_items(self, name, items):
        self.set(name, ",".join(key if value is None else f"{key}={value}" for key, value in items.items()))

    def set_env(self, name, value):
        _say("ENV {} {} {}".format("MOD" if name in self.env else "ADD", name, _escape(value)))
        self.env[name] = value

    def delete_env(self, name):
        self.env.pop(name, None)
        _say(f"ENV DEL {name}")

    def log(self, text, level="INFO"):
        """Have a line said: level INFO, WARNING or ERROR."""
        _say(f"LOG {level} {text}")

    def accept(self, text=""):
        return "ACCEPT", text

    def correct(self, text=""):
        return "CORRECT", text

    def reject(self, text=""):
        return "REJECT", text

    def reject_wait(self, text=""):
        return "REJECT_WAIT", text


def main(verify, environment=False):
    """Serve until QUIT or the end of the input. `verify(job)` returns what accept, correct, reject or reject_wait give."""
    job = Job()
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "START":
            job = Job()
            if environment:
                _say("SEND ENV")
            _say("STARTED")
        elif word == "PARAM":
            name, _, value = rest.partition(" ")
            job.params[name] = _unescape(value)
        elif word == "ENV":
            _, _, rest = rest.partition(" ")
            name, _, value = rest.partition(" ")
            job.env[name] = _unescape(value)
        elif word == "BEGIN":
            _say("RESULT STATE {} {}".format(*verify(job)))
        elif word == "QUIT":
            return
        sys.stdout.flush()
