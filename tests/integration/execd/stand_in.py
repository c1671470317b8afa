"""A stand-in for the qmaster in tests of an exec host: a real Ray head, an actor `qmaster` that notes every report, and
a GDI endpoint that answers `execd_hello` and passes instructions on.

Run as `python -m tests.integration.execd.stand_in RECORD`; the cell comes from SGE_ROOT. The program prints "ready" on standard
output. Reports go to the file RECORD, a line of JSON each, which the tests read.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from aiohttp import web

from daemons.qmaster.serve.hosts.known_hosts import KnownHosts
from daemons.runtime.cell import Cell, read_cell
from daemons.runtime.daemon import die_with_parent
from daemons.runtime.keys import known_hosts, master_keys
from daemons.runtime.ray_node import NodeInfo, RayNode, head_spec
from daemons.runtime.ray_session import NAMESPACE, actor_class, connect


class StandInQmaster:
    """Notes reports and is content with all of them."""

    def __init__(self, record: str) -> None:
        die_with_parent()
        self._record = record

    async def report(self, host: str, data: bytes) -> bytes:
        reports = json.loads(data)["reports"]
        with open(self._record, "a") as file:
            file.writelines(json.dumps({"host": host, **report}) + "\n" for report in reports)
        return json.dumps({"verdicts": [{} for _ in reports]}).encode()


class Endpoint:
    """The GDI endpoint."""

    def __init__(self, cell: Cell, info: NodeInfo) -> None:
        self._cell, self._info = cell, info
        self._key_of = KnownHosts(known_hosts(cell)).key

    async def hello(self, request: web.Request) -> web.Response:
        message = await request.json()
        if "node_id" in message:
            name = message["host"]
            actor_class("daemons.execd.actor:ExecdActor", "ping", "deliver", "read_output", "shut_down").options(
                name=f"execd-{name}",
                namespace=NAMESPACE,
                get_if_exists=True,
                lifetime="detached",
                max_restarts=-1,
                num_cpus=0,
                resources={f"host-{name}": 0.001},
            ).remote(name, str(self._cell.root), self._cell.name)
        token = head_spec(self._cell, self._cell.master_host()).token.read_text()
        return answer({"session": self._info.session, "ray_address": self._info.head, "ray_token": token})

    async def deliver(self, request: web.Request) -> web.Response:
        import ray

        message = await request.json()
        try:
            actor = ray.get_actor(f"execd-{message['host']}", namespace=NAMESPACE)
            data = await actor.deliver.remote(json.dumps({name: message[name] for name in ("instructions", "scripts")}).encode())
        except Exception as error:
            return web.json_response({"status": 1, "answers": [["error", repr(error)]], "data": None})
        return answer(json.loads(data).get("acknowledgements", []))

    async def whoami(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {self._key_of(request.headers['X-GE-Host'])}"
        body = await request.read()
        message = {name: value for name, value in request.headers.items() if name.startswith("X-GE-")}
        return answer({**message, "bytes": len(body)})

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Lines that come one by one: the second line when the test has seen the first, which the test signals by a file."""
        message = await request.json()
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        await response.write(b'{"line": 1}\n')
        while not await asyncio.to_thread(_exists, message["seen"]):
            await asyncio.sleep(0.02)
        await response.write(b'{"line": 2}\n')
        await response.write_eof()
        return response


def _exists(path: str) -> bool:
    try:
        return bool(open(path))
    except OSError:
        return False


def answer(data: Any) -> web.Response:
    return web.json_response({"status": 0, "answers": [], "data": data})


async def serve(record: str) -> None:
    cell = read_cell()
    node = RayNode(cell, head_spec(cell, cell.master_host()))
    info = await node.start()
    connect(cell, info.head)
    actor_class("tests.integration.execd.stand_in:StandInQmaster", "report").options(
        name="qmaster", namespace=NAMESPACE, lifetime="detached", num_cpus=0, resources={"qmaster": 0.001}
    ).remote(record)
    endpoint = Endpoint(cell, info)
    application = web.Application(client_max_size=2**26)
    for path, handler in (
        ("execd_hello", endpoint.hello),
        ("deliver", endpoint.deliver),
        ("whoami", endpoint.whoami),
        ("stream", endpoint.stream),
    ):
        application.router.add_post(f"/v1/{path}", handler)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", cell.qmaster_port, ssl_context=master_keys(cell).server_context(True)).start()
    print("ready", flush=True)
    await node.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
