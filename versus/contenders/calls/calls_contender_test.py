# SPDX-License-Identifier: BSD-3-Clause
"""The server of remote calls answers in each style, one call or a hundred at a time. `versus bench` has its figures."""
import pytest

from versus import lockstep
from versus.bars import bench, calls, common
from versus.built_programs import built
from versus.run import process


@pytest.fixture(params=calls.STYLES)
def connection(request):
    path = built(f"contenders/{calls.PROGRAM}")
    with process.serving(calls.contender(path, request.param).for_threads(1)) as server:
        with lockstep.connected(server.host, server.port, 1) as connections:
            yield connections[0]


@pytest.mark.parametrize("window", [1, 100])
def test_calls_are_answered(connection, window):
    calls.calls(window, [connection], 3 * window)


def test_a_frame_with_a_wrong_checksum_ends_the_connection(connection):
    calls.calls(1, [connection], 1)
    frame = bytearray(calls.request(1))
    frame[-1] ^= 1
    connection.sendall(frame)
    assert connection.recv(1) == b""


def test_allocations_are_read_from_what_memcheck_writes():
    assert calls.parse_allocations("==1==   total heap usage: 1,234 allocs, 1,200 frees, 9 bytes") == 1234
    with pytest.raises(common.CannotMeasure):
        calls.parse_allocations("==1== All heap blocks were freed")


def test_is_a_figure_of_the_table():
    assert bench.FIGURES["calls"] is calls
