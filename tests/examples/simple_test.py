# SPDX-License-Identifier: BSD-3-Clause
"""The services of old RFCs (echo, discard, daytime, time, chargen), driven by nc and by bytes sent by hand."""
import datetime
import struct
import time

from programs import Program, connect, joined, read_exactly, run_program, run_tool


def test_discard_takes_everything_and_says_nothing():
    with Program("discard", "127.0.0.1:0") as server:
        address = server.address()
        assert run_tool("nc", "-N", *address, send=b"x" * 1_000_000) == b""
        assert server.end()[0] == 0


def is_now(told):
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return abs((now - told).total_seconds()) < 60


def test_daytime_answers_nc_with_the_time_as_text():
    with Program("daytime", "127.0.0.1:0") as server:
        answer = run_tool("nc", *server.address()).decode()
        assert answer.endswith(" UTC\r\n")
        told = datetime.datetime.strptime(answer.strip(), "%a, %d %b %Y %H:%M:%S UTC")
        assert is_now(told)


def test_time_answers_with_four_bytes_as_rfc_868_has_it():
    with Program("time_server", "127.0.0.1:0") as server:
        answer = run_tool("nc", *server.address())
        (seconds,) = struct.unpack("!I", answer)
        assert abs(seconds - 2_208_988_800 - time.time()) < 60


def test_time_client_prints_the_servers_time():
    with Program("time_server", "127.0.0.1:0") as server, Program("time_client", joined(server.address())) as client:
        code, printed, _ = client.wait()
        assert code == 0
        told = datetime.datetime.strptime(printed.strip(), "%Y-%m-%d %H:%M:%S UTC")
        assert is_now(told)


def test_time_client_says_that_nobody_answers():
    code, printed, errors = run_program("time_client", "127.0.0.1:1")
    assert (code, printed) == (1, "")
    assert "cannot connect" in errors


def chargen_line(number):
    return bytes(ord(" ") + (number + column) % 95 for column in range(72)) + b"\r\n"


def test_chargen_sends_the_pattern_of_rfc_864_and_prints_its_throughput():
    with Program("chargen", "127.0.0.1:0") as server, connect(server.address()) as peer:
        text = read_exactly(peer, 74 * 400)
        assert text == b"".join(chargen_line(number) for number in range(400))
        # The server prints once a second while the client reads.
        while not server.has_output():
            read_exactly(peer, 1_000_000)
        assert "MiB/s" in server.line()


def test_all_in_one_serves_five_ports():
    with Program("all_in_one", "127.0.0.1", "0") as server:
        echo, discard, daytime, time_port, chargen = [server.address() for _ in range(5)]
        assert run_tool("nc", "-N", *echo, send=b"to and fro") == b"to and fro"
        assert run_tool("nc", "-N", *discard, send=b"away") == b""
        assert b"UTC" in run_tool("nc", *daytime)
        assert len(run_tool("nc", *time_port)) == 4
        with connect(chargen) as peer:
            assert read_exactly(peer, 74) == chargen_line(0)
        assert server.end()[0] == 0


def test_a_taken_port_is_said_in_one_sentence():
    with Program("daytime", "127.0.0.1:0") as server:
        address = joined(server.address())
        code, _, errors = run_program("discard", address)
        assert code == 1
        assert errors == f"cannot listen on {address}: Address already in use\n"


def test_echo_sends_all_back_before_the_end():
    payload = bytes(range(256)) * 4096
    with Program("all_in_one", "127.0.0.1", "0") as server:
        assert run_tool("nc", "-N", *server.address(), send=payload) == payload


def test_primes_come_in_order_and_their_thread_ends_with_the_client():
    with Program("primes", "127.0.0.1:0") as server:
        address = server.address()
        for _ in range(20):  # more clients than the pool has threads
            with connect(address) as peer:
                assert read_exactly(peer, 20).split(b"\n")[:8] == [b"2", b"3", b"5", b"7", b"11", b"13", b"17", b"19"]
        assert server.end()[0] == 0
