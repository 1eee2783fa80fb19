# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the bad clients, with a listener that records what they send."""

import socket
import sys

import pytest

from versus import attackers
from versus.run import process


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as socket_:
        socket_.settimeout(10)
        yield socket_


def said_by(listener, rounds, **manner):
    """Returns what an attacker sends in `rounds` turns."""
    one = attackers.Attacker(listener.getsockname(), manner["first"], manner["then"], 1)
    one.open()
    peer, _ = listener.accept()
    with peer:
        for _ in range(rounds):
            one.turn()
        one.shutdown()
        pieces = []
        while piece := peer.recv(65536):
            pieces.append(piece)
    one.close()
    return b"".join(pieces)


def test_a_slow_client_sends_one_byte_per_turn(listener):
    assert said_by(listener, 2, first=b"GET / ", then=b"X") == b"GET / XX"


def test_turns_are_spread_evenly_over_time(listener):
    everybody = attackers.attackers(listener.getsockname(), 1000)
    groups = attackers.by_period(everybody)
    turns = [attackers.whose_turn(groups, tick) for tick in range(5000)]
    assert max(map(len, turns)) - min(map(len, turns)) <= len(groups)
    for one in everybody:
        assert sum(one in turn for turn in turns[:1000]) in (1000 // one.period, 1000 // one.period + 1)
    assert {id(one) for turn in turns for one in turn} == {id(one) for one in everybody}


def test_an_attacker_notices_that_it_was_closed_and_reconnects(listener):
    one = attackers.Attacker(listener.getsockname(), b"hello", b"", 1)
    one.open()
    peer, _ = listener.accept()
    assert one.is_open
    peer.close()
    while one.is_open:
        one.turn()
    one.turn()
    peer, _ = listener.accept()
    with peer:
        assert peer.recv(5) == b"hello"
    one.close()


def test_there_are_equally_many_of_every_kind(listener):
    everybody = attackers.attackers(listener.getsockname(), 7)
    assert len(everybody) == 4 * attackers.EACH + 7


def test_the_program_says_when_all_are_there_and_ends_with_its_stdin(listener):
    host, port = listener.getsockname()
    words = [sys.executable, "-m", "versus.attackers", f"{host}:{port}", "--idle", "3"]
    with process.companion(words) as child:
        assert process.line_of(child, 20.0) == "ready"
        peers = [listener.accept()[0] for _ in range(4 * attackers.EACH + 3)]
        child.stdin.close()
        # A SCHED_IDLE process may end late on a busy machine. The bound detects a program that never ends.
        assert process.wait_for_end(child, 100.0) and child.returncode == 0
        for peer in peers:
            peer.close()
