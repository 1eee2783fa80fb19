# SPDX-License-Identifier: BSD-3-Clause
"""A client for exact counts, not for speed: every connection sends a block or a request, then every answer is
awaited."""

import socket
import ssl
from contextlib import contextmanager

WAIT_S = 60.0
REQUEST = b"GET /collect?v=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
KEPT_REQUEST = REQUEST[:-2] + b"Connection: keep-alive\r\n\r\n"  # for servers that keep a connection only if asked to


class EchoDiffers(RuntimeError):
    """The server sent back other bytes than it received, or did not answer."""


def block_of(size: int) -> bytes:
    return bytes(i % 128 for i in range(size))


def receive(connection: socket.socket, size: int) -> bytes:
    """Receives exactly `size` bytes."""
    pieces, left = [], size
    while left:
        piece = connection.recv(left)
        if not piece:
            raise EchoDiffers(f"the server closed the connection; {left} of {size} bytes are missing")
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _who_trusts_everybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def connected(host: str, port: int, count: int, over_tls: bool = False):
    """Opens `count` connections with TCP_NODELAY. They are closed with RST, so that none stays in TIME_WAIT."""
    connections = []
    context = _who_trusts_everybody() if over_tls else None
    try:
        for _ in range(count):
            connection = socket.create_connection((host, port), timeout=WAIT_S)
            connections.append(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if context:
                connections[-1] = context.wrap_socket(connection)
        yield connections
    finally:
        for connection in connections:
            connection.close()


def rounds(connections: list[socket.socket], size: int, count: int) -> int:
    """Sends `count` rounds of one message on every connection. Returns the number of messages."""
    block = block_of(size)
    for _ in range(count):
        for connection in connections:
            connection.sendall(block)
        for connection in connections:
            if receive(connection, size) != block:
                raise EchoDiffers("the echoed bytes differ from the sent bytes")
    return count * len(connections)


def _answer(connection: socket.socket) -> int:
    """Receives one HTTP answer with a Content-Length. Returns its number of bytes."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            raise EchoDiffers("the server closed the connection instead of answering")
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
    if length is None or b" 200" not in lines[0]:
        raise EchoDiffers("the server's answer is not a 200 with a Content-Length")
    receive(connection, length - len(body))
    return len(head) + 4 + length


def requests(connections: list[socket.socket], count: int, request: bytes = REQUEST) -> int:
    """Makes `count` rounds of one request on every connection; each round is sent before its first answer is read.
    Returns the number of requests."""
    for _ in range(count):
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            _answer(connection)
    return count * len(connections)


def bursts(connections: list[socket.socket], count: int, request: bytes, depth: int) -> int:
    """Makes `count` rounds of `depth` requests on every connection, which are sent together and have answers of the
    same length. Makes one request on each connection before that. Returns the number of requests of the rounds."""
    sizes = []
    for connection in connections:
        connection.sendall(request)
        sizes.append(_answer(connection))
    for _ in range(count):
        for connection in connections:
            connection.sendall(request * depth)
        for connection, size in zip(connections, sizes, strict=True):
            receive(connection, depth * size)
    return count * depth * len(connections)
