# SPDX-License-Identifier: BSD-3-Clause
"""The well-behaved clients of soak.py. They never repeat a request, and must get every byte that they ask for."""
import asyncio
import re

from soak_servers import FILES
from soak_wire import CLOSE, PING, PONG, TEXT, frame, request

SLOW_BYTES_A_SECOND = 64 * 1024
TOO_SLOW = 1013  # the chat room's close code for a client that reads too slowly


class Refused(Exception):
    """The server has refused a request in a documented way. `ends` is true if the connection ends, too."""

    def __init__(self, what, ends):
        super().__init__(what)
        self.ends = ends


async def slowly(peer, size):
    """Reads `size` bytes at 64 KiB/s."""
    piece = SLOW_BYTES_A_SECOND // 16
    chunks = []
    for at in range(0, size, piece):
        chunks.append(await peer.exactly(min(piece, size - at)))
        await asyncio.sleep(1 / 16)
    return b"".join(chunks)


async def get(peer, path, read):
    await peer.send(request(path))
    head = await peer.until(b"\r\n\r\n")
    size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    if head.startswith(b"HTTP/1.1 503 "):  # the server had no fd to open the file with
        await peer.exactly(size)
        raise Refused(f"{path} cannot be opened", ends=False)
    assert head.startswith(b"HTTP/1.1 200 "), f"{path}: {head!r}"
    assert await read(peer, size) == FILES[path], f"{path}: the bytes are not those of the file"
    return size


async def browse(peer, rng, slow):
    if slow:
        return await get(peer, "/slow.bin", slowly)
    return await get(peer, rng.choice(list(FILES)), lambda its, size: its.exactly(size))


async def echo(peer, rng, slow):
    sent = rng.randbytes(128 * 1024 if slow else rng.randrange(1, 40_000))
    sending = asyncio.ensure_future(peer.send(sent))
    back = await (slowly(peer, len(sent)) if slow else peer.exactly(len(sent)))
    await sending
    assert back == sent, "an echo returned other bytes"
    return len(sent)


async def chat(peer, rng, _):
    """Sends a message and waits until the room sends it back."""
    if not hasattr(peer, "in_room"):
        head = await peer.until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        peer.in_room = True
    said = f"good {rng.getrandbits(64):x} {rng.randbytes(rng.randrange(800)).hex()}".encode()
    await peer.send(frame(TEXT, said))
    while True:
        opcode, payload = await peer.heard()
        if opcode == PING:
            await peer.send(frame(PONG, payload))
        if opcode == CLOSE:
            if int.from_bytes(payload[:2]) == TOO_SLOW:
                raise Refused("the room", ends=True)
            raise AssertionError(f"the room closed: {payload!r}")
        if opcode == TEXT and payload == said:
            return len(said)


ASK = {"http": browse, "callbacks": echo, "coroutines": echo, "chat": chat}
