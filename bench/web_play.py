"""Visitors of a web server, run on its host: `python3 - PLAY BASE COUNT SECONDS TOKEN... < web_play.py`.

Standard library only. Prints one line of JSON with the results of the visitors. Called by `bench/web.py`.

    fill   COUNT held jobs, in SECONDS at most     pages   COUNT open pages     pollers   COUNT programs, a request a second each
"""

import asyncio
import json
import sys
import time
from itertools import cycle, islice
from urllib.parse import quote, urlsplit

PAGES = ["/", "/jobs", "/jobs?state=held&sort=-id", "/jobs?owner=bob", "/jobs/1", "/queues", "/instances", "/hosts"]
LIST = "/api/v1/jobs?limit=100"
SUBMISSION = {"script_file": "/bin/true", "binary": True, "name": "filled", "holds": "u"}
AT_ONCE = 8


async def exchange(
    base: str, token: str, path: str, body: object = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request on a new connection; returns streams after the head of the answer. Raises OSError for a failed request."""
    where = urlsplit(base)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    data = b"" if body is None else json.dumps(body).encode()
    head = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", f"Host: {where.netloc}", f"Authorization: Bearer {token}"]
    head += ["Accept-Encoding: gzip", "Content-Type: application/json", f"Content-Length: {len(data)}", "", ""]
    writer.write("\r\n".join(head).encode() + data)
    answer = await reader.readuntil(b"\r\n\r\n")
    if answer.split()[1][:1] != b"2":
        raise OSError(answer.decode(errors="replace").splitlines()[0])
    return reader, writer


async def fill(base: str, count: int, until: float, tokens: list[str]) -> dict[str, float]:
    """Submit."""
    left, done = iter(range(count)), [0]

    async def submit(token: str) -> None:
        for _ in left:
            if time.monotonic() > until:
                return
            _, writer = await exchange(base, token, "/api/v1/jobs", SUBMISSION)
            writer.close()
            done[0] += 1

    await asyncio.gather(*(submit(token) for token in islice(cycle(tokens), AT_ONCE)))
    return {"submitted": done[0]}


async def pages(base: str, count: int, until: float, tokens: list[str]) -> dict[str, float]:
    """Keep pages open, each of a visitor and an address, and read their updates."""
    found: dict[str, float] = {"open": 0, "bytes": 0, "pieces": 0}

    async def look(number: int) -> None:
        address = PAGES[number % len(PAGES)]
        reader, writer = await exchange(base, tokens[number % len(tokens)], f"/live?page={quote(address, safe='')}")
        found["open"] += 1
        try:
            while True:
                async with asyncio.timeout(until - time.monotonic()):
                    piece = await reader.read(2**16)
                if not piece:
                    return
                found["bytes"] += len(piece)
                found["pieces"] += 1
        except TimeoutError:
            writer.close()

    await asyncio.gather(*(look(number) for number in range(count)))
    return found


async def pollers(base: str, count: int, until: float, tokens: list[str]) -> dict[str, float]:
    """Ask for the list of jobs, each once a second."""
    took: list[float] = []

    async def poll(number: int) -> None:
        await asyncio.sleep(number / count)
        while time.monotonic() < until - 1:
            begin = time.monotonic()
            reader, writer = await exchange(base, tokens[number % len(tokens)], LIST)
            await reader.read(1)
            writer.close()
            took.append(time.monotonic() - begin)
            await asyncio.sleep(max(0.0, begin + 1 - time.monotonic()))

    await asyncio.gather(*(poll(number) for number in range(count)))
    took.sort()
    return {"asked": len(took), "median_ms": round(took[len(took) // 2] * 1000, 1), "worst_ms": round(took[-1] * 1000, 1)}


if __name__ == "__main__":
    play, base, count, seconds, *tokens = sys.argv[1:]
    work = {"fill": fill, "pages": pages, "pollers": pollers}[play]
    print(json.dumps(asyncio.run(work(base, int(count), time.monotonic() + float(seconds), tokens))))
