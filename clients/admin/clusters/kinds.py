"""The kinds of clusters: the commands that start the head and the other hosts, and the variables by which a program finds the
cluster.

Owns the command lines of Ray and Dask, and their secrets: only the job's user may use the cluster. Starts nothing itself. Called
by `head`.
"""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

from gridengine.addresses import join_port

Part = dict[str, Any]
"""The input of `node`, by field."""


#: attempts of a host: Ray gives up after 30 s, which a loaded host may need
TRIES = 3


class ClusterHost(NamedTuple):
    """A host of the job, and its slots there."""

    name: str
    slots: int


class ClusterPlan(NamedTuple):
    """`daemons`: parts on the master's host, in their order; `others`: a part for each other host. `environment`: of the script.

    `check`: code for the user's Python that returns when the cluster is complete, "" for none.
    """

    daemons: list[Part]
    others: list[Part]
    files: dict[str, str]
    environment: dict[str, str]
    check: str


def ray_cluster(python: str, hosts: list[ClusterHost], address: str, ports: list[int], directory: str) -> ClusterPlan:
    """A Ray cluster with its own token. `ports`: three free ports; `directory`: of its session, on all hosts."""
    environment = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": "{private}/token",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    files = {"token": secrets.token_hex(32)}
    port, agent, metrics = ports
    start = [python, "-m", "ray.scripts.scripts", "start", "--disable-usage-stats"]
    # worker ports chosen by the system: other clusters, and the cell's own Ray, may run on these hosts
    common = ["--min-worker-port=0", "--max-worker-port=0"]

    def part(arguments: list[str], slots: int, tries: int) -> Part:
        command = [*start, *arguments, f"--num-cpus={slots}", *common]
        known = {"files": files, "environment": environment, "returns": True, "closed": [directory], "remove": [directory]}
        return {**known, "command": command, "tries": tries}

    head = [
        "--head",
        f"--node-ip-address={address}",
        f"--port={port}",
        f"--dashboard-agent-listen-port={agent}",
        f"--metrics-export-port={metrics}",
        "--include-dashboard=false",
        f"--temp-dir={directory}/s",
    ]
    found = join_port(address, port)
    others = [part([f"--address={found}"], host.slots, TRIES) for host in hosts[1:]]
    return ClusterPlan([part(head, hosts[0].slots, 1)], others, files, {**environment, "RAY_ADDRESS": found}, "")


def dask_cluster(python: str, hosts: list[ClusterHost], address: str, ports: list[int], directory: str) -> ClusterPlan:
    """A Dask cluster whose parts accept one certificate, made for this cluster alone. `ports`: the first must be free."""
    certificate, key = _certificate()
    files = {"tls.crt": certificate, "tls.key": key}
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    environment = {f"{tls}CA_FILE": "{private}/tls.crt", "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        environment |= {f"{tls}{role}__CERT": "{private}/tls.crt", f"{tls}{role}__KEY": "{private}/tls.key"}
    scheduler = f"tls://{join_port(address, ports[0])}"

    def part(arguments: list[str]) -> Part:
        command = [python, "-m", *arguments, "--no-dashboard"]
        known = {"files": files, "environment": environment, "returns": False, "closed": [], "remove": []}
        return {**known, "command": command, "tries": 1}

    def worker(slots: int) -> Part:
        arguments = [scheduler, f"--nworkers={slots}", "--nthreads=1", "--local-directory={private}", "--death-timeout=300"]
        return part(["distributed.cli.dask_worker", *arguments, "--protocol=tls"])

    first = part(["distributed.cli.dask_scheduler", f"--host={address}", f"--port={ports[0]}", "--protocol=tls"])
    slots = sum(host.slots for host in hosts)
    check = f"from distributed import Client\nwith Client() as client: client.wait_for_workers({slots}, 300)"
    return ClusterPlan(
        [first, worker(hosts[0].slots)],
        [worker(host.slots) for host in hosts[1:]],
        files,
        {**environment, "DASK_SCHEDULER_ADDRESS": scheduler},
        check,
    )


def _certificate() -> tuple[str, str]:
    """A self-signed certificate, valid for a month, and its key."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dask")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=31))
    certificate = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(key, hashes.SHA256())
    text = serialization.Encoding.PEM
    private = key.private_bytes(text, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(text).decode(), private.decode()


KINDS = {"ray": ray_cluster, "dask": dask_cluster}
