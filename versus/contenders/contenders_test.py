# SPDX-License-Identifier: BSD-3-Clause
"""Every ping-pong contender is an honest one, and the bare clients count what they do."""
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from contender_process import PATIENCE_S, Server, program

SERVERS = ["raw_epoll", "raw_uring", "libevent", "libevent_write_first", "asio_shared", "asio_per_thread", "libuv",
           "libev", "ace", "poco"]
RESET = struct.pack("ii", 1, 0)


@pytest.fixture(params=SERVERS)
def name(request):
    return request.param


@pytest.fixture
def server(name):
    running = Server(name)
    yield running
    assert running.end() == 0, "the server must outlive its clients and end well"


def receive_all(stream):
    received = bytearray()
    while chunk := stream.recv(1 << 16):
        received += chunk
    return bytes(received)


def echo_once(stream, message):
    stream.sendall(message)
    received = b""
    while len(received) < len(message):
        chunk = stream.recv(len(message) - len(received))
        assert chunk, "the server closed too early"
        received += chunk
    assert received == message


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
    # More than the kernel's buffers take, so that output queues in the server until the reading starts.
    data = random.Random(3).randbytes(16 << 20)
    with server.connect() as stream:
        sender = threading.Thread(target=send_in_random_chunks, args=(stream, data, 4))
        sender.start()
        sender.join(timeout=0.2)
        received = receive_all(stream)
        sender.join()
    assert received == data


def test_two_hundred_connections_at_once(server):
    streams = [server.connect() for _ in range(200)]
    for index, stream in enumerate(streams):
        stream.sendall(bytes([index]) * 1000)
    for index, stream in enumerate(streams):
        received = b""
        while len(received) < 1000:
            received += stream.recv(1000)
        assert received == bytes([index]) * 1000
        stream.close()


def test_resets_do_not_kill_it(server):
    for _ in range(50):
        stream = server.connect()
        stream.sendall(b"x" * 100_000)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        stream.close()
    with server.connect() as stream:
        echo_once(stream, b"still here")


def test_slow_readers_neither_starve_others_nor_grow_the_server(server):
    slow = []
    for _ in range(20):
        stream = server.connect()
        stream.setblocking(False)
        # Until neither side's kernel buffers nor the server take any more for a while.
        while select.select([], [stream], [], 0.02)[1]:
            try:
                stream.send(b"y" * 65536)
            except BlockingIOError:
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_zero(name, number):
    running = Server(name)
    with running.connect() as stream:
        echo_once(stream, b"before")
        assert running.end(number) == 0


def test_several_threads_serve_one_port(name):
    running = Server(name, threads=2)
    try:
        streams = [running.connect() for _ in range(32)]
        for stream in streams:
            echo_once(stream, b"m" * 3000)
        for stream in streams:
            stream.close()
    finally:
        assert running.end() == 0


def test_it_survives_running_out_of_fds_without_spinning(name):
    running = Server(name, fd_limit=40)
    try:
        streams = [running.connect() for _ in range(60)]
        echo_once(streams[0], b"served while others wait")
        before = running.cpu_seconds()
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(timeout=0.5)
        spent = running.cpu_seconds() - before
        for stream in streams:
            stream.close()
        with running.connect() as stream:
            echo_once(stream, b"recovered")
        assert spent < 0.1
    finally:
        assert running.end() == 0


@pytest.mark.parametrize("arguments", [[], ["--listen"], ["--listen", "nonsense"],
                                       ["--listen", "127.0.0.1:0", "-x", "1"],
                                       ["--listen", "127.0.0.1:0", "--threads", "0"]])
def test_called_wrongly_it_says_how(name, arguments):
    result = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: ")


@pytest.fixture
def floor():
    """One server for what is about the clients."""
    running = Server("raw_epoll")
    yield running
    assert running.end() == 0


def run_client(client, *arguments):
    result = subprocess.run([program(client), *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)


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
    process = subprocess.Popen([program("bare_idle"), floor.address, "--connections", "300"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready 300\n"
    assert process.poll() is None
    assert len(os.listdir(f"/proc/{floor.process.pid}/fd")) >= 300
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
