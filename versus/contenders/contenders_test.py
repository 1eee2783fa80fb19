# SPDX-License-Identifier: BSD-3-Clause
"""Every echo contender sends back all bytes in order, survives hard clients, and ends cleanly. The bare clients count
correctly. tls_contenders_test.py has more tests of the contenders over TLS."""
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from contender_process import (ECHOES_OVER_TLS, PATIENCE_S, WRONG_WORDS, Server, assert_holds, echo_once, program,
                               run_client, serving)
from programs import reset  # contender_process puts its folder on the path
from versus.lockstep import receive

SERVERS = ["raw_epoll", "raw_uring", "libevent", "libevent_write_first", "asio_shared", "asio_per_thread", "libuv",
           "libev", "ace", "poco"]
over_tls_too = pytest.mark.parametrize("name", [*SERVERS, *ECHOES_OVER_TLS])


@pytest.fixture(params=SERVERS)
def name(request):
    return request.param


@pytest.fixture
def server(name):
    with serving(name) as running:
        yield running


def receive_all(stream):
    received = bytearray()
    while chunk := stream.recv(1 << 16):
        received += chunk
    return bytes(received)


def send_in_random_chunks(stream, data, seed):
    chance = random.Random(seed)
    at = 0
    while at < len(data):
        size = chance.choice([1, 7, 64, 1460, 16384, 20480, 65536])
        stream.sendall(data[at:at + size])
        at += size
    stream.shutdown(socket.SHUT_WR)


def test_a_megabyte_in_random_chunks_comes_back_then_the_end(server):
    data = random.Random(1).randbytes(1 << 20)
    with server.connect() as stream:
        sender = threading.Thread(target=send_in_random_chunks, args=(stream, data, 2))
        sender.start()
        received = receive_all(stream)
        sender.join()
    assert received == data


def test_client_reads_late_while_output_is_queued(server):
    # 16 MiB are more than the kernel buffers, so output queues in the server until the client reads.
    data = random.Random(3).randbytes(16 << 20)
    with server.connect() as stream:
        sender = threading.Thread(target=send_in_random_chunks, args=(stream, data, 4))
        sender.start()
        sender.join(timeout=0.2)
        received = receive_all(stream)
        sender.join()
    assert received == data


@over_tls_too
def test_two_hundred_connections_at_once(server):
    streams = [server.connect() for _ in range(200)]
    for index, stream in enumerate(streams):
        stream.sendall(bytes([index]) * 1000)
    for index, stream in enumerate(streams):
        assert receive(stream, 1000) == bytes([index]) * 1000
        stream.close()


def test_resets_do_not_kill_it(server):
    for _ in range(50):
        stream = server.connect()
        stream.sendall(b"x" * 100_000)
        reset(stream)
    with server.connect() as stream:
        echo_once(stream, b"still here")


@over_tls_too
def test_slow_readers_neither_starve_others_nor_grow_the_server(server):
    slow = []
    for _ in range(20):
        stream = server.connect()
        stream.settimeout(0.02)
        try:  # until the kernel buffers of both sides are full and the server reads no more for a while
            while True:
                stream.send(b"y" * 16384)
        except TimeoutError:
            pass
        slow.append(stream)
    with server.connect() as stream:
        for _ in range(20):
            echo_once(stream, b"z" * 16384)
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    resident_kb = int(status.split("VmRSS:")[1].split()[0])
    for stream in slow:
        stream.close()
    assert resident_kb < 64 * 1024


@over_tls_too
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_zero(name, number):
    running = Server(name)
    with running.connect() as stream:
        echo_once(stream, b"before")
        assert running.end(number) == 0


@over_tls_too
def test_several_threads_serve_one_port(name):
    with serving(name, threads=2) as running:
        streams = [running.connect() for _ in range(32)]
        for stream in streams:
            echo_once(stream, b"m" * 3000)
        for stream in streams:
            stream.close()


@over_tls_too
def test_it_survives_running_out_of_fds_without_spinning(name):
    with serving(name, fd_limit=40) as running:
        # Over TLS a server that has not yet seen the others leave may close a new connection: at once or in the
        # handshake.
        may_shed = (ConnectionError, ssl.SSLError) if running.is_over_tls else ()
        with running.connect() as first:
            echo_once(first, b"served")
            streams = [running.connect_plainly() for _ in range(60)]
            echo_once(first, b"served while others wait")
            before = running.cpu_seconds()
            with pytest.raises(subprocess.TimeoutExpired):
                running.process.wait(timeout=0.5)
            spent, give_up = running.cpu_seconds() - before, time.monotonic() + PATIENCE_S
            for stream in streams:
                stream.close()
            while True:
                try:
                    with running.connect() as stream:
                        echo_once(stream, b"recovered")
                        break
                except may_shed:
                    assert time.monotonic() < give_up
            assert spent < 0.1


@pytest.mark.parametrize("arguments", WRONG_WORDS)
def test_wrong_options_print_the_usage(name, arguments):
    result = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: ")


@pytest.fixture
def floor():
    """A server for tests that are about the clients."""
    with serving("raw_epoll") as running:
        yield running


def test_bare_client_counts_a_closed_loop(floor):
    result = run_client("bare_client", floor.address, "--connections", 10, "--size", 20000, "--duration", 0.2,
                        "--server-pid", floor.process.pid)
    assert result["errors"] == 0 and result["connections"] == 10
    assert result["messages"] > 10 and result["bytes"] >= result["messages"] * 20000 - 20000
    assert result["client_cpu_ns_per_message"] > 0 and result["server_cpu_ns_per_message"] > 0


def test_bare_client_holds_a_rate(floor):
    result = run_client("bare_client", floor.address, "--connections", 10, "--duration", 0.5, "--rate", 1000)
    assert 400 <= result["messages"] <= 510


def test_bare_churn_reaches_its_total(server):
    result = run_client("bare_churn", server.address, "--total", 2000)
    assert result["connections"] == 2000 and result["failures"] == 0


def test_bare_idle_holds_its_connections_until_its_input_ends(floor):
    assert_holds(floor, 300, "bare_idle", "--connections", "300")
