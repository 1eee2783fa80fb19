# SPDX-License-Identifier: BSD-3-Clause
"""Every echo contender over TLS handles records correctly, all contenders over TLS use the same cryptography, and the
bare clients over TLS count correctly. contenders_test.py has the tests for all echo contenders, http_contenders_test.py
those for HTTP."""
import json
import os
import random
import re
import socket
import ssl
import subprocess

import pytest

import contender_certificate
from contender_process import (ECHOES_OVER_TLS, OF_PEAL, OF_TLS, PATIENCE_S, assert_holds, command, echo_once, program,
                               run_client, serving)
from versus.lockstep import receive
from programs import reset  # contender_process puts its folder on the path
from tls_parties import ByHand

HTTPS = [name for name in OF_TLS if name.startswith("https_")]
RECORD = 16384


@pytest.fixture(params=ECHOES_OVER_TLS)
def name(request):
    return request.param


@pytest.fixture
def server(name):
    with serving(name) as running:
        yield running


class Stream(ByHand):
    """A client that can read late, cut records apart and see how the connection ends. Python's TLS sockets cannot."""

    def __init__(self, server):
        super().__init__(("127.0.0.1", server.port), contender_certificate.context())
        self.shake_hands()

    def send(self, plain):
        """Sends even if the server waits until this client reads: bytes that arrive meanwhile are kept."""
        left = memoryview(self.records(plain))
        self.socket.setblocking(False)
        while left:
            try:
                left = left[self.socket.send(left):]
            except BlockingIOError:
                self.socket.settimeout(PATIENCE_S)
                self.take()
                self.socket.setblocking(False)
        self.socket.settimeout(PATIENCE_S)

    def receive(self, size):
        received = b""
        while len(received) < size:
            received += self.until_done(self.tls.read, 1 << 16)
        return received

    def says_goodbye(self):
        """Returns whether the server answers our close_notify with its own, instead of ending the connection without
        one."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            self.flush()
        return self.read_to_the_mark() == b""


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
    # 8 MiB are more than the kernel buffers, so output queues in the server until the client reads.
    data = random.Random(3).randbytes(8 << 20)
    with Stream(server) as stream:
        for at in range(0, len(data), 65536):
            stream.send(data[at:at + 65536])
        assert stream.receive(len(data)) == data


def test_sixteen_records_in_one_segment_come_back_in_order(server):
    messages = [bytes([number]) * 64 for number in range(16)]
    with Stream(server) as stream:
        stream.socket.sendall(stream.records(*messages))
        assert stream.receive(16 * 64) == b"".join(messages)


def test_a_record_in_two_pieces(server):
    with Stream(server) as stream:
        for size in (1, 100, RECORD):
            for cut in (1, 5, size // 2 + 6, -1):
                record = stream.records(b"p" * size)
                stream.socket.sendall(record[:cut])
                os.sched_yield()
                stream.socket.sendall(record[cut:])
                assert stream.receive(size) == b"p" * size


def test_resets_and_strangers_do_not_kill_it(server):
    for _ in range(20):
        stream = server.connect()
        stream.sendall(b"x" * 100_000)
        reset(stream)
    for words in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\0" * 1000):
        with server.connect_plainly() as stream:
            stream.sendall(words)
    with server.connect_plainly():
        with server.connect() as stream:
            echo_once(stream, b"still here")


@pytest.mark.parametrize("name", OF_TLS)
def test_all_do_the_same_cryptography(name):
    with serving(name) as running:
        words = ["openssl", "s_client", "-connect", running.address, "-tls1_3", "-CAfile",
                 contender_certificate.certificate()[0], "-ciphersuites",
                 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"]
        said = _said_to_a_web_server(words) if name in HTTPS else _said_to_an_echo(words)
        assert "Cipher is TLS_AES_128_GCM_SHA256" in said
        assert "Server Temp Key: X25519" in said and "Verify return code: 0 (ok)" in said
        assert "Peer signature type: ECDSA" in said
        assert len(re.findall("Post-Handshake New Session Ticket arrived", said)) == 1


def _said_to_a_web_server(words):
    return subprocess.run([*words, "-ign_eof"], input="GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                          capture_output=True, text=True, check=False, timeout=PATIENCE_S).stdout


def _said_to_an_echo(words):
    """Returns what s_client prints. It runs without -quiet, so a line "Q" ends it. The line is sent after the echo,
    because the session ticket arrives before the echo."""
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
        return said + child.stdout.read()


@pytest.mark.parametrize("name", OF_TLS)
def test_handshakes_resume_a_session_only_if_asked(name):
    with serving(name) as running:
        count = [program("bare_handshakes"), running.address, "--handshakes", "5"]
        for resume in ("0", "1"):
            done = subprocess.run([*count, "--resume", resume], capture_output=True, text=True, timeout=PATIENCE_S,
                                  check=False)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert found["handshakes"] == 5 and found["resumed"] == (resume == "1")


@pytest.mark.parametrize("name", OF_TLS)
def test_the_error_names_a_certificate_file_that_is_missing(name):
    words = [*command(name), "--listen", "127.0.0.1:0"]
    words[words.index("--tls-cert") + 1] = "/nowhere/cert.pem"
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 1 and "/nowhere/cert.pem" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--listen", "127.0.0.1:0"], ["--listen", "127.0.0.1:0", "--tls-cert"],
                                       ["--listen", "127.0.0.1:0", "--tls-cert", "x"],
                                       ["--tls-cert", "x", "--tls-key", "x"]])
def test_wrong_options_print_the_usage(name, arguments):
    if name in OF_PEAL:
        pytest.skip("its options differ; see tests/outside/serve_tls_test.py")
    result = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                            check=False)
    assert result.returncode == 2 and "--tls-cert FILE --tls-key FILE" in result.stderr


@pytest.mark.parametrize("name", ["https_raw", "https_nginx"])
def test_a_mebibyte_is_downloaded_whole(name, tmp_path):
    tmp_path.chmod(0o755)
    body = random.Random(5).randbytes(1 << 20)
    (tmp_path / "one-mib.bin").write_bytes(body)
    with serving(name, more=("--root", str(tmp_path))) as running:
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


@pytest.fixture(name="floor")
def make_floor():
    with serving("raw_tls") as running:
        yield running


@pytest.mark.parametrize("size, burst", [(64, 1), (64, 16), (RECORD, 1), (65536, 2)])
def test_the_bare_client_counts_messages(floor, size, burst):
    found = run_client("bare_tls_client", floor.address, "--connections", 5, "--size", size, "--burst", burst,
                       "--messages", 20, "--server-pid", floor.process.pid)
    assert found["messages"] == 5 * 20 * burst
    assert found["server_cpu_ns_per_message"] > 0 and found["client_cpu_ns_per_message"] > 0


@pytest.mark.parametrize("name", HTTPS)
def test_the_bare_client_asks_web_servers(name):
    with serving(name) as running:
        assert run_client("bare_tls_client", running.address, "--http", 1, "--burst", 4, "--messages", 10)[
            "messages"] == 40


def test_the_bare_client_holds_its_connections_until_its_input_ends(floor):
    assert_holds(floor, 100, "bare_tls_client", "--connections", "100", "--messages", "1", "--idle", "1")


def test_bare_handshakes_fails_if_no_ticket_arrives():
    certificate, key = contender_certificate.certificate()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(certificate, key)
        made.num_tickets = 0
        words = [program("bare_handshakes"), f"127.0.0.1:{listener.getsockname()[1]}", "--handshakes", "1"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
            peer, _ = listener.accept()
            made.wrap_socket(peer, server_side=True).close()
            assert "the server sent no session ticket" in child.communicate(timeout=PATIENCE_S)[1]
    assert child.returncode == 1
