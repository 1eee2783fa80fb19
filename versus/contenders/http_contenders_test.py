# SPDX-License-Identifier: BSD-3-Clause
"""Every HTTP contender gives the answer of contender_http.h, byte for byte, and follows HTTP otherwise."""
import os
import re
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from contender_process import OF_PEAL, OF_TLS, PATIENCE_S, WRONG_WORDS, Server, command, serving
from programs import reset  # contender_process puts its folder on the path

HTTPS = [name for name in OF_TLS if name.startswith("https_")]
SERVERS = ["http_raw_epoll", "http_raw_uring", "http_nginx", "http_libevent", "http_beast", "http_beast_locked",
           "http_beast_shared", "http_go", "http_hyper", "http_python",
           *(name for name in OF_PEAL if name.startswith("http_")), *HTTPS]
OWN_ORDER = {"http_go", "http_hyper", "https_go", "https_hyper", *OF_PEAL}  # same number of bytes, but another order
# These accept POST: nginx's `return` ignores the method, and peal's program accepts posted bodies.
ONE_METHOD_FOR_ALL = {"http_nginx", "https_nginx", *OF_PEAL}
BODY = b"Hello, World!"
DATE = rb"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
LINES = [rb"Server: (bench|nginx)", b"Date: " + DATE, b"Content-Type: text/plain", b"Content-Length: 13",
         b"Connection: keep-alive"]
ANSWER_BYTES = 154
GET = b"GET /collect?v=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(params=SERVERS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def server(name):
    """Runs one process for all tests of a contender."""
    with serving(name) as running:
        yield running


class Client:
    """A connection whose answers are read one by one. Bytes after an answer are kept for the next one."""

    def __init__(self, server):
        self.stream = server.connect()
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def send(self, data):
        self.stream.sendall(data)

    def more(self):
        try:
            chunk = self.stream.recv(1 << 16)
        except ConnectionResetError:
            chunk = b""
        self.rest += chunk
        return bool(chunk)

    def answer(self, has_body=True):
        """Reads the next answer. Returns (all its bytes, status, headers by lower-case name, body)."""
        while b"\r\n\r\n" not in self.rest:
            assert self.more(), f"the server closed after {self.rest!r}"
        head, _, rest = self.rest.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        headers = {key.lower(): value for key, value in (line.split(b": ", 1) for line in lines)}
        length = int(headers.get(b"content-length", b"0")) if has_body else 0
        while len(rest) < length:
            assert self.more(), f"the server closed within the body {rest!r}"
            rest = self.rest[len(head) + 4:]
        self.rest = rest[length:]
        return head + b"\r\n\r\n" + rest[:length], int(status.split()[1]), headers, rest[:length]

    def closed(self):
        """True if the server closes the connection without sending another byte."""
        return self.rest == b"" and not self.more()


def assert_common(answer, name):
    whole, status, _, body = answer
    assert status == 200 and body == BODY and len(whole) == ANSWER_BYTES
    first, *lines = whole.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert first == b"HTTP/1.1 200 OK"
    wanted = LINES
    if name in OWN_ORDER:
        lines, wanted = sorted(lines), sorted(LINES, key=lambda line: line.split(b":")[0])
    assert len(lines) == len(wanted)
    for line, pattern in zip(lines, wanted):
        assert re.fullmatch(pattern, line), line


def assert_answered(client, name):
    client.send(GET)
    assert_common(client.answer(), name)


@pytest.mark.parametrize("target", [b"/", b"/collect", b"/collect?v=1", b"/?x"])
def test_the_answer_is_that_of_all_contenders(server, name, target):
    with Client(server) as client:
        client.send(b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n")
        assert_common(client.answer(), name)


def test_a_connection_stays_for_the_next_request(server, name):
    with Client(server) as client:
        for _ in range(3):
            assert_answered(client, name)


def test_the_answer_stays_right_when_the_date_changes(server, name):
    dates = set()
    with Client(server) as client:
        while len(dates) < 2:
            client.send(GET)
            answer = client.answer()
            assert_common(answer, name)
            dates.add(answer[2][b"date"])


def test_sixteen_requests_in_one_write(server, name):
    with Client(server) as client:
        for _ in range(3):
            client.send(GET * 16)
            for _ in range(16):
                assert_common(client.answer(), name)


def test_more_requests_than_any_buffer_holds(server, name):
    count = 5000  # their answers have 770 KB
    with Client(server) as client:
        client.stream.setblocking(False)
        left = GET * count
        while left:  # until everything is sent; if the server waits until this client reads, it reads
            try:
                left = left[client.stream.send(left):]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                client.stream.settimeout(PATIENCE_S)
                client.more()
                client.stream.setblocking(False)
        client.stream.settimeout(PATIENCE_S)
        for _ in range(count):
            assert client.answer()[3] == BODY


def test_a_request_split_at_every_byte(server, name):
    with Client(server) as client:
        for at in range(1, len(GET)):
            client.send(GET[:at])
            os.sched_yield()
            client.send(GET[at:])
            assert_common(client.answer(), name)
        for byte in GET:
            client.send(bytes([byte]))
        assert_common(client.answer(), name)


def test_half_of_the_next_request_arrives_with_this_one(server, name):
    with Client(server) as client:
        client.send(GET + GET[:20])
        assert_common(client.answer(), name)
        client.send(GET[20:] + GET[:1])
        assert_common(client.answer(), name)
        client.send(GET[1:])
        assert_common(client.answer(), name)


def test_a_request_with_connection_close_ends_the_connection(server, name):
    with Client(server) as client:
        client.send(b"GET /collect?v=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        whole, status, headers, body = client.answer()
        assert status == 200 and body == BODY and headers[b"connection"] == b"close"
        assert len(whole) == ANSWER_BYTES - len(b"keep-alive") + len(b"close")
        assert client.closed()


def test_five_hundred_short_connections(server, name):
    for _ in range(500):
        with Client(server) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert client.answer()[3] == BODY


def test_head_has_no_body(server, name):
    with Client(server) as client:
        for _ in range(2):
            client.send(b"HEAD /collect?v=1 HTTP/1.1\r\nHost: a\r\n\r\n")
            _, status, headers, _ = client.answer(has_body=False)
            assert status == 200 and headers[b"content-length"] == b"13"
        assert_answered(client, name)


def test_another_path_is_not_found(server, name):
    for target in (b"/nothing", b"/collec", b"/collect/", b"/collects?v=1"):
        with Client(server) as client:
            client.send(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.answer()[1] == 404


def test_another_method_is_refused(server, name):
    with Client(server) as client:
        client.send(b"POST /collect HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        status = client.answer()[1]
    assert status in ((200,) if name in ONE_METHOD_FOR_ALL else (405, 501))


@pytest.mark.parametrize("header_bytes", [32 << 10, 128 << 10])
def test_a_huge_header_is_refused_and_harms_nobody(server, name, header_bytes):
    if name == "http_python" and header_bytes < 1 << 16:
        pytest.skip("its limit is 64 KiB")
    with Client(server) as client:
        try:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * header_bytes + b"\r\n\r\n")
        except OSError:
            pass  # the server has closed while this client was sending
        if client.more():
            assert 400 <= client.answer()[1] < 500
    with Client(server) as client:
        assert_answered(client, name)


def test_garbage_is_refused_and_harms_nobody(server, name):
    if name in OF_TLS:
        pytest.skip("Python's ssl cannot end one direction only")
    for garbage in (b"\r\n\r\n\r\n\r\nx", b"GET", b"GET /", b"\0" * 100, b" "):
        with Client(server) as client:
            client.send(garbage + b"\r\n\r\n")
            client.stream.shutdown(socket.SHUT_WR)
            while client.more():
                pass
            assert b" 200 " not in client.rest
    with Client(server) as client:
        assert_answered(client, name)


def test_resets_do_not_kill_it(server, name):
    for _ in range(50):
        stream = server.connect()
        stream.sendall(GET * 100)
        reset(stream)
    with Client(server) as client:
        assert_answered(client, name)


def test_two_hundred_connections_on_two_threads(name):
    with serving(name, threads=2) as server:
        clients = [Client(server) for _ in range(200)]
        for _ in range(2):
            for client in clients:
                client.send(GET)
            for client in clients:
                assert_common(client.answer(), name)
        for client in clients:
            client.stream.close()


def gone(pid):
    """Returns whether the process ends in time. It yields the processor instead of sleeping: no event tells when a
    process that is not a child has gone."""
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        os.sched_yield()
    return not Path(f"/proc/{pid}").exists()


def children_of(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_zero_and_leaves_nothing(name, number, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = Server(name, threads=2)
    with Client(server) as client:
        assert_answered(client, name)
        children = children_of(server.process.pid)
        assert server.end(number) == 0
    assert all(gone(child) for child in children)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", WRONG_WORDS)
def test_wrong_options_print_the_usage(name, arguments):
    if not arguments and name in OF_PEAL:
        pytest.skip("it has a default address")
    result = subprocess.run([*command(name), *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: ") or name in OF_PEAL
