# SPDX-License-Identifier: BSD-3-Clause
"""Timers, finger, throughput, uptime and round trips: each program is run as a user would run it."""
import signal
import re
import subprocess

import pytest

from programs import EXAMPLES, PATIENCE_SECONDS, Program, connect, joined, read_all, run_program, run_tool


@pytest.mark.parametrize("name, printed", [
    ("timer_wait", "50 ms have passed\n"),
    ("timer_many", "first\nsecond, and 1 cancelled\nthird\n"),
    ("timer_repeat", "tick 1\ntick 2\ntick 3\ntick 4\ntick 5\n"),
    ("timer_member", "3\n2\n1\n0\n"),
])
def test_timer_tutorials(name, printed):
    assert run_program(name) == (0, printed, "")


def test_timers_of_two_threads_count_together():
    code, printed, _ = run_program("timer_threads")
    lines = printed.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == [str(number) for number in range(1, 11)]
    assert {line.split()[-1] for line in lines} == {"0", "1"}


def test_finger_grows_step_by_step():
    with Program("finger01") as program:
        program.process.send_signal(signal.SIGTERM)
        code = program.wait()[0]
        assert code in (0, -signal.SIGTERM)  # the signal may come before the handler is installed
    for name, sent, answer in [("finger03", b"", b""), ("finger04", b"moshez\r\n", b""),
                               ("finger05", b"moshez\r\n", b"No such user\r\n"),
                               ("finger06", b"moshez\r\n", b"Happy and well\r\n"),
                               ("finger06", b"nobody\r\n", b"No such user\r\n"),
                               ("finger07", b"moshez\r\n", b"Happy and well\r\n")]:
        with Program(name, "127.0.0.1:0") as server, connect(server.address()) as peer:
            peer.sendall(sent)
            assert read_all(peer) == answer, name
    with Program("finger02", "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.settimeout(0.1)
        with pytest.raises(TimeoutError):
            peer.recv(1)


@pytest.mark.parametrize("name", ["finger06", "finger07"])
def test_finger_hangs_up_on_a_name_without_an_end(name):
    with Program(name, "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.sendall(b"x" * 2000)
        assert read_all(peer) == b""


def test_finger_users_can_be_changed_while_it_serves():
    with Program("finger07", "127.0.0.1:0", "127.0.0.1:0") as server:
        finger, admin = server.address(), server.address()
        assert run_tool("nc", "-N", *admin, send=b"tina In the garden\n") == b"done\r\n"
        assert run_tool("nc", *finger, send=b"tina\r\n") == b"In the garden\r\n"


@pytest.mark.parametrize("mode", ["echo", "discard"])
@pytest.mark.parametrize("threads", [1, 2])
def test_throughput_is_printed_on_both_ends(mode, threads):
    with Program("throughput_server", mode, "127.0.0.1:0", threads) as server:
        address = joined(server.address())
        code, printed, errors = run_program("throughput_client", mode, address, 4096, 1.5)
        assert (code, errors) == (0, "")
        assert float(printed.split()[0]) > 0 and printed.endswith(" MiB/s\n")
        assert "MiB/s" in server.line()
        assert server.end()[0] == 0


def test_throughput_called_wrongly_says_how():
    done = subprocess.run([EXAMPLES / "throughput_server", "sing"], stderr=subprocess.PIPE, check=False,
                          timeout=PATIENCE_SECONDS)
    assert done.returncode == 2 and done.stderr.startswith(b"usage: ")


def test_uptime_tells_of_each_loss_and_return():
    with Program("discard", "127.0.0.1:0") as server:
        address = joined(server.address())
        with Program("uptime", address) as client:
            assert client.line().startswith("up, after ")
            server.end()
            # The connection is reset if the server ended before it had accepted.
            assert re.match(r"down \((closed|reset) by the peer\), after ", client.line())
            assert "trying again in " in client.line()
            with Program("discard", address):
                while not (line := client.line()).startswith("up, after "):
                    assert "trying again in " in line
            assert client.end()[0] == 0


@pytest.mark.parametrize("server, client", [("clock_server", "clock_client"), ("udp_clock_server", "udp_clock_client")])
def test_the_clocks_of_one_machine_agree(server, client):
    with Program(server, "127.0.0.1:0") as clock:
        code, printed, _ = run_program(client, joined(clock.address()), 3)
        assert code == 0 and len(printed.splitlines()) == 3
        for words in map(str.split, printed.splitlines()):  # round trip R us, clock ahead by O us
            assert abs(int(words[7])) <= int(words[2])


def test_a_udp_server_that_is_not_there_is_noticed():
    with Program("udp_clock_server", "127.0.0.1:0") as server:
        address = joined(server.address())
    code, _, errors = run_program("udp_clock_client", address)
    assert code == 1 and "Connection refused" in errors or "not sent" in errors


def test_the_idle_kicker_hangs_up_on_the_silent_only():
    with Program("idle_kicker", "127.0.0.1:0", 0.3) as server, connect(server.address()) as peer:
        for _ in range(3):
            peer.sendall(b"still here")
            assert peer.recv(100) == b"still here"
        assert peer.recv(100) == b""
        assert server.line() == "idle for too long"


def test_the_limiter_gives_the_place_of_the_longest_idle_to_a_newcomer():
    with Program("connection_limiter", "127.0.0.1:0", 2) as server:
        address = server.address()
        with connect(address) as first, connect(address) as second:
            for peer in (second, first):  # `second` is now idle for longer than `first`
                peer.sendall(b"x")
                assert peer.recv(1) == b"x"
            with connect(address) as third:
                third.sendall(b"y")
                assert third.recv(1) == b"y"
                assert read_all(second) == b""
                first.sendall(b"x")
                assert first.recv(1) == b"x"
