"""Drives HyperQueue by its Python package, which is no library of this project: a Python that has it runs PROGRAM.

The package has no command, and its workers are threads of the server's process. Called by `task_lists` and by `peers`.
"""

from __future__ import annotations

COMMAND = "/bin/true"

#: Verbs and arguments: `run CORES TASKS`, a server of its own that runs so many tasks; `serve DIRECTORY WORKERS CORES`, until it
#: is ended; `submit DIRECTORY TASKS` and `sync DIRECTORY TASKS`, which waits as the package does; `drain DIRECTORY` waits until
#: all jobs so far have ended, and prints the number of tasks that ended successfully, its own task among them.
PROGRAM = """
import sys
import time

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig


class Stop(Exception):
    pass


def submit(client, tasks):
    job = Job(max_fails=None)
    for _ in range(tasks):
        job.program(["COMMAND"], stdout=None, stderr=None)
    return client.submit(job)


def drain(client):
    last, found = submit(client, 1), {}

    def look(jobs):  # the package itself asks once a second
        found.update(jobs)
        raise Stop

    while not found or not all(job["completed"] for job in found.values()):
        time.sleep(0.05)
        try:
            client.connection.wait_for_jobs(range(1, last.id + 1), look)
        except Stop:
            pass
    print(sum(job["finished"] for job in found.values()))


verb, *words = sys.argv[1:]
if verb == "run":
    with LocalCluster(worker_config=WorkerConfig(cores=int(words[0]))) as cluster:
        client = cluster.client()
        client.wait_for_jobs([submit(client, int(words[1]))])
elif verb == "serve":
    cluster = LocalCluster(words[0])
    for _ in range(int(words[1])):
        cluster.start_worker(WorkerConfig(cores=int(words[2])))
    while True:
        time.sleep(3600)
elif verb == "drain":
    drain(Client(words[0]))
else:
    client = Client(words[0])
    job = submit(client, int(words[1]))
    if verb == "sync":
        client.wait_for_jobs([job])
""".replace("COMMAND", COMMAND)


def command_of(python: str, verb: str, *arguments: str | int) -> list[str]:
    """The command line of a verb of PROGRAM."""
    return [python, "-c", PROGRAM, verb, *map(str, arguments)]
