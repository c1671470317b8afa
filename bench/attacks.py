"""The attacks of the siege, run on a host of the cell as an ordinary user: `python3 - ATTACK ARGUMENTS < attacks.py`.

Standard library only, as an outsider would write it; knows only the addresses of the system. Prints one line of
JSON with the results. Called by `siege`.

    idle PATH COUNT SECONDS           connections without data
    heads ADDRESS PORT COUNT SECONDS  TLS connections with half a request
    bodies PATH COUNT BYTES SECONDS   that many bodies of that size at the same time, repeatedly
    names PATH COUNT SECONDS          that many held jobs with names of 512 bytes
    patterns PATH COUNT SECONDS       that many connections that request patterns of 1 KB, repeatedly
"""

import asyncio
import json
import resource
import ssl
import sys
import time

HEAD = b"POST /v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
NAME, PATTERN = "a" * 512, "*?" * 510 + "*b"
#: requests with PATTERN; none of NAME matches, and each has to be looked at to its end
ASKED = {
    "delete_jobs": {"targets": [PATTERN]},
    "hold_jobs": {"targets": [PATTERN]},
    "alter_jobs": {"targets": [PATTERN], "changes": {"priority": -1}},
    "submit": {"script_file": "/bin/true", "binary": True, "hold_jid": [PATTERN], "verify": "v"},
    "explain_job": {"jobs": [PATTERN]},
    "status": {"job_detail": {"jobs": [PATTERN]}},
}
#: connections that are made at the same time
AT_ONCE = 200


async def idle(path: str, count: int, seconds: float) -> dict[str, int]:
    """Connections that say nothing, kept open on this side to the end."""
    return await _crowd(lambda: asyncio.open_unix_connection(path), b"", count, seconds)


async def heads(address: str, port: int, count: int, seconds: float) -> dict[str, int]:
    """Half a head each, without any key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return await _crowd(lambda: asyncio.open_connection(address, port, ssl=context), HEAD[:40], count, seconds)


async def _crowd(connect, message: bytes, count: int, seconds: float) -> dict[str, int]:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    gate = asyncio.Semaphore(AT_ONCE)
    held, failed = [], 0

    async def one() -> None:
        nonlocal failed
        async with gate:
            if time.monotonic() > until:
                return
            try:
                async with asyncio.timeout(max(0.0, until - time.monotonic())):
                    reader, writer = await connect()
                writer.write(message)
                held.append((reader, writer))
            except (OSError, TimeoutError, ssl.SSLError):
                failed += 1

    await asyncio.gather(*(one() for _ in range(count)))
    opened_s = seconds - (until - time.monotonic())
    await asyncio.sleep(max(0.0, until - time.monotonic()))
    ended = sum(reader.at_eof() or reader.exception() is not None for reader, _ in held)
    return {"opened": len(held), "failed": failed, "held_at_end": len(held) - ended, "opening_s": round(opened_s)}


async def bodies(path: str, count: int, size: int, seconds: float) -> dict[str, int]:
    """Requests that announce `size` bytes and send as many as are taken."""
    until = time.monotonic() + seconds
    tries = sent = 0
    piece = b"x" * 2**18

    async def one() -> None:
        nonlocal tries, sent
        while time.monotonic() < until:
            tries += 1
            try:
                _, writer = await asyncio.open_unix_connection(path)
                writer.write(HEAD + f"Content-Length: {size}\r\n\r\n".encode())
                for _ in range(0, size, len(piece)):
                    async with asyncio.timeout(max(0.0, until - time.monotonic())):
                        writer.write(piece)
                        await writer.drain()
                    sent += len(piece)
                await asyncio.sleep(max(0.0, until - time.monotonic()))
            except (OSError, TimeoutError):
                await asyncio.sleep(0.01)
            finally:
                writer.close()

    await asyncio.gather(*(one() for _ in range(count)))
    return {"tries": tries, "megabytes_taken": sent >> 20}


async def names(path: str, count: int, seconds: float) -> dict[str, int]:
    """Jobs that wait for ever, as long names as may be."""
    submit = {"name": NAME, "script_file": "/bin/true", "binary": True, "holds": "u"}
    async with asyncio.timeout(seconds * 10):
        answers = [await _ask(path, "submit", submit) for _ in range(count)]
    return {"submitted": sum(b'"job_id"' in answer for answer in answers)}


async def patterns(path: str, count: int, seconds: float) -> dict[str, int]:
    """Every request that takes a pattern, on `count` connections at the same time."""
    until = time.monotonic() + seconds
    answered: dict[str, int] = dict.fromkeys(ASKED, 0)

    async def one() -> None:
        while time.monotonic() < until:
            for name, body in ASKED.items():
                answered[name] += b'"status"' in await _ask(path, name, body)

    await asyncio.gather(*(one() for _ in range(count)))
    return answered


async def _ask(path: str, name: str, body: object) -> bytes:
    """The answer to a request, heads and all."""
    reader, writer = await asyncio.open_unix_connection(path)
    message = json.dumps(body).encode()
    head = HEAD.replace(b"submit", name.encode()) + f"Content-Length: {len(message)}\r\nConnection: close\r\n\r\n".encode()
    writer.write(head + message)
    answer = await reader.read()
    writer.close()
    return answer


def main() -> None:
    """Run the attack that the arguments name."""
    attack, *arguments = sys.argv[1:]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    target, numbers, seconds = arguments[0], [int(argument) for argument in arguments[1:-1]], float(arguments[-1])
    if attack == "heads":
        play = heads(target, numbers[0], numbers[1], seconds)
    elif attack == "bodies":
        play = bodies(target, numbers[0], numbers[1], seconds)
    else:
        play = {"idle": idle, "names": names, "patterns": patterns}[attack](target, numbers[0], seconds)
    found = asyncio.run(play)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
