# SPDX-License-Identifier: BSD-3-Clause
"""The bytes that the clients of soak.py send (HTTP requests and WebSocket frames), and the sockets that send them."""
import asyncio
import os
import socket
import struct

from soak_servers import FILES

HANDSHAKE = (b"GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def frame(opcode, payload, fin=True):
    """Returns a masked frame, as a client sends it."""
    key = os.urandom(4)
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(payload))
    masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
    return bytes([(0x80 if fin else 0) | opcode]) + size + key + masked


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def message(kind, rng):
    """Returns one complete message of the protocol `kind`."""
    if kind == "http":
        return request(rng.choice([*FILES, "/none"]))
    if kind == "chat":
        return frame(TEXT, rng.randbytes(rng.randrange(300)).hex().encode())
    return rng.randbytes(rng.randrange(1, 20_000))


class Peer:
    """A connection on which the caller decides every byte. If `narrow` is true, its receive buffer is small."""

    def __init__(self, narrow=False):
        self.loop = asyncio.get_running_loop()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if narrow:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.pending = b""

    async def connect(self, server):
        await self.loop.sock_connect(self.socket, server.address)
        if server.kind == "chat":
            await self.send(HANDSHAKE)

    async def send(self, data):
        await self.loop.sock_sendall(self.socket, data)

    async def some(self, most=65536):
        """Returns what has arrived, or b"" at the end of the connection."""
        if self.pending:
            data, self.pending = self.pending[:most], self.pending[most:]
            return data
        return await self.loop.sock_recv(self.socket, most)

    async def until(self, mark):
        """Returns everything up to and including the mark."""
        while mark not in self.pending:
            data = await self.loop.sock_recv(self.socket, 65536)
            assert data, f"the connection ended after {self.pending[:200]!r}"
            self.pending += data
        found, _, self.pending = self.pending.partition(mark)
        return found + mark

    async def exactly(self, size):
        chunks, left = [], size
        while left:
            data = await self.some(left)
            assert data, f"the connection ended, and {left} of {size} bytes did not come"
            chunks.append(data)
            left -= len(data)
        return b"".join(chunks)

    async def heard(self):
        """Returns the opcode and the payload of the next frame."""
        first, size = await self.exactly(2)
        if size == 126:
            size, = struct.unpack(">H", await self.exactly(2))
        elif size == 127:
            size, = struct.unpack(">Q", await self.exactly(8))
        return first & 15, await self.exactly(size)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
