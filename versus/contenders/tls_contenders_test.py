# SPDX-License-Identifier: BSD-3-Clause
"""Every ping-pong contender over TLS is an honest one, all do the same cryptography, and the bare clients over TLS
count what they do. Those that speak HTTP are held to the answer of everybody in http_contenders_test.py."""
import json
import os
import random
import re
import signal
import socket
import ssl
import struct
import subprocess
import time
from pathlib import Path

import pytest

import contender_certificate
from contender_process import OF_PEAL, OF_TLS, PATIENCE_S, Server, command, program

ECHOES = [name for name in OF_TLS if not name.startswith("https_")]
HTTPS = [name for name in OF_TLS if name.startswith("https_")]
RESET = struct.pack("ii", 1, 0)
RECORD = 16384


@pytest.fixture(params=ECHOES)
def name(request):
    return request.param


@pytest.fixture
def server(name):
    running = Server(name)
    yield running
    assert running.end() == 0, "the server must outlive its clients and end well"


class Stream:
    """A client that may read late, cut records, and see how it ends: Python's sockets over TLS hide that."""

    def __init__(self, server):
        self._socket = server.connect_plainly()
        self._from, self._to = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = contender_certificate.context().wrap_bio(self._from, self._to, server_hostname="localhost")
        self._until(self._tls.do_handshake)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _flush(self):
        if data := self._to.read():
            self._socket.sendall(data)

    def _until(self, step):
        while True:
            try:
                found = step()
                self._flush()
                return found
            except ssl.SSLWantReadError:
                self._flush()
                data = self._socket.recv(1 << 16)
                if data:
                    self._from.write(data)
                else:
                    self._from.write_eof()

    def send(self, data):
        """Also while nobody reads what comes back: what arrives meanwhile is kept."""
        self._tls.write(data)
        left = memoryview(self._to.read())
        self._socket.setblocking(False)
        while left:
            try:
                left = left[self._socket.send(left):]
            except BlockingIOError:
                self._socket.settimeout(PATIENCE_S)
                self._from.write(self._socket.recv(1 << 20))
                self._socket.setblocking(False)
        self._socket.settimeout(PATIENCE_S)

    def receive(self, size):
        received = b""
        while len(received) < size:
            received += self._until(lambda: self._tls.read(1 << 16))
        return received

    def records(self, *messages):
        """What each message is encrypted to, for send_as_it_is()."""
        for message in messages:
            self._tls.write(message)
        return self._to.read()

    def send_as_it_is(self, data):
        self._socket.sendall(data)

    def says_goodbye(self):
        """Whether the server answers our end with its own, not with an end without a word."""
        try:
            self._tls.unwrap()
        except ssl.SSLWantReadError:
            self._flush()
        try:
            return self._until(lambda: self._tls.read(1)) is None
        except ssl.SSLZeroReturnError:
            return True


def receive(stream, size):
    received = b""
    while len(received) < size:
        chunk = stream.recv(size - len(received))
        assert chunk, "the server closed too early"
        received += chunk
    return received


def echo_once(stream, message):
    stream.sendall(message)
    assert receive(stream, len(message)) == message


def test_a_megabyte_in_random_chunks_comes_back_then_a_true_end(server):
    data, chance, at = random.Random(1).randbytes(1 << 20), random.Random(2), 0
    with Stream(server) as stream:
        while at < len(data):
            size = chance.choice([1, 7, 64, 1460, RECORD, 20480, 65536])
            stream.send(data[at:at + size])
            at += size
        assert stream.receive(len(data)) == data
        assert stream.says_goodbye()


def test_a_client_that_reads_late_gets_all(server):
    # More than the kernel's buffers take, so that output queues in the server until the reading starts.
    data = random.Random(3).randbytes(8 << 20)
    with Stream(server) as stream:
        for at in range(0, len(data), 65536):
            stream.send(data[at:at + 65536])
        assert stream.receive(len(data)) == data


def test_sixteen_records_in_one_segment_come_back_in_order(server):
    messages = [bytes([number]) * 64 for number in range(16)]
    with Stream(server) as stream:
        stream.send_as_it_is(stream.records(*messages))
        assert stream.receive(16 * 64) == b"".join(messages)


def test_a_record_in_two_pieces(server):
    with Stream(server) as stream:
        for size in (1, 100, RECORD):
            for cut in (1, 5, size // 2 + 6, -1):
                record = stream.records(b"p" * size)
                stream.send_as_it_is(record[:cut])
                os.sched_yield()
                stream.send_as_it_is(record[cut:])
                assert stream.receive(size) == b"p" * size


def test_two_hundred_connections_at_once(server):
    streams = [server.connect() for _ in range(200)]
    for index, stream in enumerate(streams):
        stream.sendall(bytes([index]) * 1000)
    for index, stream in enumerate(streams):
        assert receive(stream, 1000) == bytes([index]) * 1000
        stream.close()


def test_resets_and_strangers_do_not_kill_it(server):
    for _ in range(20):
        stream = server.connect()
        stream.sendall(b"x" * 100_000)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        stream.close()
    for words in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\0" * 1000):
        with server.connect_plainly() as stream:
            stream.sendall(words)
    with server.connect_plainly():
        with server.connect() as stream:
            echo_once(stream, b"still here")


def test_slow_readers_neither_starve_others_nor_grow_the_server(server):
    slow = []
    for _ in range(20):
        stream = server.connect()
        stream.settimeout(0.02)
        try:  # until neither side's kernel buffers nor the server take any more for a while
            while True:
                stream.send(b"y" * RECORD)
        except TimeoutError:
            pass
        slow.append(stream)
    with server.connect() as stream:
        for _ in range(20):
            echo_once(stream, b"z" * RECORD)
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
                # A server may shed who comes before it has seen others leave, at once or in his handshake.
                except (ConnectionError, ssl.SSLError):
                    assert time.monotonic() < give_up
            assert spent < 0.1
    finally:
        assert running.end() == 0


@pytest.mark.parametrize("name", [*ECHOES, *HTTPS])
def test_all_do_the_same_cryptography(name):
    running = Server(name)
    try:
        client = subprocess.run(
            ["openssl", "s_client", "-connect", running.address, "-tls1_3", "-ign_eof", "-CAfile",
             contender_certificate.certificate()[0], "-ciphersuites", "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"],
            input="GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", capture_output=True, text=True, check=False,
            timeout=PATIENCE_S) if name in HTTPS else _said_to_an_echo(running)
        assert "Cipher is TLS_AES_128_GCM_SHA256" in client.stdout
        assert "Server Temp Key: X25519" in client.stdout and "Verify return code: 0 (ok)" in client.stdout
        assert "Peer signature type: ECDSA" in client.stdout
        assert len(re.findall("Post-Handshake New Session Ticket arrived", client.stdout)) == 1
    finally:
        assert running.end() == 0


def _said_to_an_echo(running):
    """What s_client says; with -quiet off a line "Q" ends it, once the echo is back and with it the ticket."""
    words = ["openssl", "s_client", "-connect", running.address, "-tls1_3", "-CAfile",
             contender_certificate.certificate()[0], "-ciphersuites", "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as child:
        child.stdin.write("an echo\n")
        child.stdin.flush()
        said = ""
        while not said.endswith("\nan echo\n"):
            line = child.stdout.readline()
            assert line, said
            said += line
        child.stdin.write("Q\n")
        child.stdin.close()
        said += child.stdout.read()
    return subprocess.CompletedProcess(words, 0, said, "")


@pytest.mark.parametrize("name", [*ECHOES, *HTTPS])
def test_a_session_is_resumed_and_without_it_is_not(name):
    running = Server(name)
    try:
        count = [program("bare_handshakes"), running.address, "--handshakes", "5"]
        for resume in ("0", "1"):
            done = subprocess.run([*count, "--resume", resume], capture_output=True, text=True, timeout=PATIENCE_S,
                                  check=False)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert found["handshakes"] == 5 and found["resumed"] == (resume == "1")
    finally:
        assert running.end() == 0


@pytest.mark.parametrize("name", [*ECHOES, *HTTPS])
def test_a_certificate_that_is_not_there_is_named(name):
    words = [*command(name), "--listen", "127.0.0.1:0"]
    words[words.index("--tls-cert") + 1] = "/nowhere/cert.pem"
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1 and "/nowhere/cert.pem" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--listen", "127.0.0.1:0"], ["--listen", "127.0.0.1:0", "--tls-cert"],
                                       ["--listen", "127.0.0.1:0", "--tls-cert", "x"],
                                       ["--tls-cert", "x", "--tls-key", "x"]])
def test_called_wrongly_it_says_how(name, arguments):
    if name in OF_PEAL:
        pytest.skip("it has words of its own: tests/outside/serve_tls_test.py")
    result = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert result.returncode == 2 and "--tls-cert FILE --tls-key FILE" in result.stderr


@pytest.mark.parametrize("name", ["https_raw", "https_nginx"])
def test_a_mebibyte_is_downloaded_whole(name, tmp_path):
    tmp_path.chmod(0o755)
    body = random.Random(5).randbytes(1 << 20)
    (tmp_path / "one-mib.bin").write_bytes(body)
    running = Server(name, more=("--root", str(tmp_path)))
    try:
        with running.connect() as stream:
            stream.sendall(b"GET /one-mib.bin HTTP/1.1\r\nHost: a\r\n\r\n" * 3)
            for _ in range(3):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += receive(stream, 1)
                assert b" 200 " in head and b"ontent-" in head and b"ength: 1048576" in head
                assert receive(stream, len(body)) == body
            stream.sendall(b"GET /collect HTTP/1.1\r\nHost: a\r\n\r\n")
            assert receive(stream, 154).endswith(b"Hello, World!")
    finally:
        assert running.end() == 0


@pytest.fixture(name="floor")
def make_floor():
    running = Server("raw_tls")
    yield running
    assert running.end() == 0


def run_client(client, *arguments):
    result = subprocess.run([program(client), *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)


@pytest.mark.parametrize("size, burst", [(64, 1), (64, 16), (RECORD, 1), (65536, 2)])
def test_the_bare_client_counts_messages(floor, size, burst):
    found = run_client("bare_tls_client", floor.address, "--connections", 5, "--size", size, "--burst", burst,
                       "--messages", 20, "--server-pid", floor.process.pid)
    assert found["messages"] == 5 * 20 * burst
    assert found["server_cpu_ns_per_message"] > 0 and found["client_cpu_ns_per_message"] > 0


@pytest.mark.parametrize("name", HTTPS)
def test_the_bare_client_asks_web_servers(name):
    running = Server(name)
    try:
        assert run_client("bare_tls_client", running.address, "--http", 1, "--burst", 4, "--messages", 10)[
            "messages"] == 40
    finally:
        assert running.end() == 0


def test_the_bare_client_holds_its_connections_until_its_input_ends(floor):
    words = [program("bare_tls_client"), floor.address, "--connections", "100", "--messages", "1", "--idle", "1"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready 100\n"
        assert child.poll() is None and len(os.listdir(f"/proc/{floor.process.pid}/fd")) >= 100
        child.communicate(timeout=PATIENCE_S)
    assert child.returncode == 0


def test_handshakes_that_cannot_be_resumed_are_no_figure():
    certificate, key = contender_certificate.certificate()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(certificate, key)
        made.num_tickets = 0
        words = [program("bare_handshakes"), f"127.0.0.1:{listener.getsockname()[1]}", "--handshakes", "1"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
            peer, _ = listener.accept()
            made.wrap_socket(peer, server_side=True).close()
            assert "no ticket came" in child.communicate(timeout=PATIENCE_S)[1]
    assert child.returncode == 1
