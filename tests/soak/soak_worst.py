# SPDX-License-Identifier: BSD-3-Clause
"""The misbehaving clients of soak.py. Each is a coroutine. The caller closes its connection."""
import asyncio

from soak_wire import message


async def reads_slowly(peer, kind, rng):
    for _ in range(10):
        await peer.send(message(kind, rng))
    while await peer.some(rng.randrange(1, 2000)):
        await asyncio.sleep(rng.random() / 10)


async def never_reads(peer, kind, rng):
    """Sends until the server takes no more. In the chat it sends 300 messages, which the room can still pass on."""
    for _ in range(300 if kind == "chat" else 100_000):
        await peer.send(message(kind, rng))
    await asyncio.sleep(60)


async def resets(peer, kind, rng):
    """Sends and reads at random. Then the caller resets the connection, in whatever state it is."""
    for _ in range(rng.randrange(4)):
        whole = message(kind, rng)
        await peer.send(whole[:rng.randrange(len(whole) + 1)])
        if rng.random() < 0.5:
            await peer.some(100)
        if rng.random() < 0.2:
            peer.half_close()
            return


async def half_closes(peer, kind, rng):
    for _ in range(rng.randrange(1, 4)):
        await peer.send(message(kind, rng))
    whole = message(kind, rng)
    await peer.send(whole[:rng.randrange(len(whole) + 1)])
    peer.half_close()
    while await peer.some():
        pass


async def stalls(peer, kind, rng):
    """Stops in the middle of a message."""
    whole = message(kind, rng)
    await peer.send(whole[:rng.randrange(len(whole))])
    await asyncio.sleep(60)


async def floods(peer, kind, rng):
    async def read():
        while await peer.some():
            pass

    reading = asyncio.ensure_future(read())
    try:
        for _ in range(150):
            await peer.send(message(kind, rng))
    finally:
        reading.cancel()


async def drips(peer, kind, rng):
    for at in message(kind, rng)[:40]:
        await peer.send(bytes([at]))
        await asyncio.sleep(0.03)


async def speaks_garbage(peer, kind, rng):
    for _ in range(5):
        garbled = bytearray(message(kind, rng))
        for _ in range(rng.randrange(4)):
            garbled[rng.randrange(len(garbled))] = rng.randrange(256)
        await peer.send(bytes(garbled))


OTHERS = (reads_slowly, resets, half_closes, stalls, floods, drips, speaks_garbage)
NARROW = (reads_slowly, never_reads)
