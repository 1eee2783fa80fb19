# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the downloading clients, with a listener that counts their requests and answers as the test wants."""

import socket
import sys

import pytest

from versus import downloaders
from versus.run import process

FILE_BYTES = 10_000


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as socket_:
        socket_.settimeout(10)
        yield socket_


def requests_of(peer: socket.socket, count: int) -> None:
    """Reads `count` requests and asserts that there are no more."""
    seen = b""
    while seen.count(b"\r\n\r\n") < count:
        piece = peer.recv(65536)
        assert piece
        seen += piece
    assert seen.count(b"GET /large HTTP/1.1\r\n") == count and seen.endswith(b"\r\n\r\n")


def test_a_client_requests_again_after_each_file(listener):
    download = downloaders.Download(listener.getsockname(), "/large", FILE_BYTES)
    peer, _ = listener.accept()
    with peer, download.socket:
        requests_of(peer, downloaders.AHEAD)
        assert download.take() == 0
        peer.sendall(b"x" * FILE_BYTES)
        while download.received < FILE_BYTES:
            download.take(4096)
        requests_of(peer, 1)


def test_if_the_server_closes_the_download_fails(listener):
    download = downloaders.Download(listener.getsockname(), "/large", FILE_BYTES)
    peer, _ = listener.accept()
    with peer, download.socket:
        requests_of(peer, downloaders.AHEAD)
        peer.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionError):
            while True:
                download.take()


def test_the_program_says_when_all_have_bytes_and_counts_the_later_ones(listener):
    host, port = listener.getsockname()
    words = [sys.executable, "-m", "versus.downloaders", f"{host}:{port}", "/large", str(FILE_BYTES), "--clients", "2"]
    with process.companion(words) as child:
        peers = [listener.accept()[0] for _ in range(2)]
        for peer in peers:
            requests_of(peer, downloaders.AHEAD)
            peer.sendall(b"x" * 100)
        assert process.line_of(child, 20.0) == "ready"
        for peer in peers:
            peer.sendall(b"x" * FILE_BYTES)
            requests_of(peer, 1)  # so all bytes of the file except 100 have been counted
        child.stdin.close()
        assert int(process.line_of(child, 20.0)) >= 2 * (FILE_BYTES - 100)
        assert process.wait_for_end(child, 10.0) and child.returncode == 0
        for peer in peers:
            peer.close()
