# SPDX-License-Identifier: BSD-3-Clause
"""A client for exact counts, not for speed: every connection sends a block or asks, then every answer is awaited."""

import socket
import ssl
from contextlib import contextmanager

WAIT_S = 60.0
REQUEST = b"GET /collect?v=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
KEPT_REQUEST = REQUEST[:-2] + b"Connection: keep-alive\r\n\r\n"  # for who keeps a connection only when asked


class EchoDiffers(RuntimeError):
    """The server did not send back what it was sent, or did not answer."""


def block_of(size: int) -> bytes:
    return bytes(i % 128 for i in range(size))


def receive(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes."""
    pieces, left = [], size
    while left:
        piece = connection.recv(left)
        if not piece:
            raise EchoDiffers(f"the server closed with {left} of {size} bytes owed")
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
    """`count` connections with TCP_NODELAY, closed by RST so that they leave nothing in TIME_WAIT."""
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
    """`count` rounds of one message on every connection. The number of messages."""
    block = block_of(size)
    for _ in range(count):
        for connection in connections:
            connection.sendall(block)
        for connection in connections:
            if receive(connection, size) != block:
                raise EchoDiffers("the bytes echoed differ from the bytes sent")
    return count * len(connections)


def _answer(connection: socket.socket) -> None:
    """Awaits one HTTP answer with a Content-Length."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            raise EchoDiffers("the server closed instead of answering")
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
    if length is None or b" 200" not in lines[0]:
        raise EchoDiffers("the server did not answer 200 with a length")
    receive(connection, length - len(body))


def requests(connections: list[socket.socket], count: int, request: bytes = REQUEST) -> int:
    """`count` rounds of one request on every connection, all sent before the first answer is read. How many."""
    for _ in range(count):
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            _answer(connection)
    return count * len(connections)
