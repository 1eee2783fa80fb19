# SPDX-License-Identifier: BSD-3-Clause
"""The well-behaved clients of the soak: they repeat nothing, and must get every byte that they ask for."""
import asyncio
import re

from soak_servers import FILES
from soak_wire import CLOSE, PING, PONG, TEXT, frame, request

SLOW_BYTES_A_SECOND = 64 * 1024
TOO_SLOW = 1013  # what the chat room closes with who reads more slowly than it talks


class Refused(Exception):
    """By what the server's documents name. `ends`: the connection, too."""

    def __init__(self, what, ends):
        super().__init__(what)
        self.ends = ends


async def slowly(peer, size):
    """As many bytes, at 64 KiB/s."""
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
    if head.startswith(b"HTTP/1.1 503 "):  # no fd to open the file with
        await peer.exactly(size)
        raise Refused(f"{path} cannot be opened", ends=False)
    assert head.startswith(b"HTTP/1.1 200 "), f"{path}: {head!r}"
    assert await read(peer, size) == FILES[path], f"{path}: other bytes than those of the file"
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
    assert back == sent, "an echo brought other bytes"
    return len(sent)


async def chat(peer, rng, _):
    """Says something and waits until it comes back from the room."""
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
