# SPDX-License-Identifier: BSD-3-Clause
"""The framed echo server answers in each style, even if a frame arrives byte by byte. It closes the connection if a
frame's length is above the limit."""
import pytest

from versus import lockstep
from versus.bars import bench, framing
from versus.built_programs import built
from versus.run import process


@pytest.fixture(params=framing.STYLES)
def connection(request):
    path = built(f"contenders/{framing.PROGRAM}")
    with process.serving(framing.contender(path, request.param).for_threads(1)) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            yield connections[0]


def test_messages_come_back(connection):
    framing.echoes([connection], 3)
    connection.sendall(framing.FRAME * 3 + bytes(4))
    assert lockstep.receive(connection, 3 * len(framing.FRAME) + 4) == framing.FRAME * 3 + bytes(4)
    for byte in framing.FRAME:
        connection.sendall(bytes([byte]))
    assert lockstep.receive(connection, len(framing.FRAME)) == framing.FRAME


def test_a_length_over_the_limit_ends_the_connection(connection):
    connection.sendall(framing.FRAME + b"\xff\xff\xff\xff")
    assert lockstep.receive(connection, len(framing.FRAME)) == framing.FRAME
    assert connection.recv(1) == b""


def test_is_a_figure_of_the_table():
    assert bench.FIGURES["framing"] is framing
