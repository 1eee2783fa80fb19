# SPDX-License-Identifier: BSD-3-Clause
"""The reverse proxy when its upstream misbehaves or its client leaves.

tests/outside/http_client_test.py tests how it passes messages on.
"""
import concurrent.futures
import contextlib
import select
import socket

import pytest

from programs import PATIENCE_SECONDS, Program, connect, joined, read_exactly, read_head, reset, run_program

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


class Upstream:
    """A listener for the proxy. The test answers its connections by hand."""

    def __init__(self, stack):
        self._stack = stack
        self._listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._listener.settimeout(PATIENCE_SECONDS)
        self.address = joined(self._listener.getsockname())

    def accept(self):
        peer, _ = self._listener.accept()
        peer.settimeout(PATIENCE_SECONDS)
        return self._stack.enter_context(peer)

    def close(self):
        self._listener.close()


class Proxy:
    def __init__(self, stack, program):
        self._stack = stack
        self._address = program.address()

    def send(self, request=GET):
        peer = self._stack.enter_context(connect(self._address))
        peer.sendall(request)
        return peer

    def status(self, request=GET):
        return status(self.send(request))

    def passes_on(self, upstream, request=GET):
        """Sends a request through the proxy.

        Returns the client, and the upstream's connection after it has received the head.
        """
        peer = self.send(request)
        behind = upstream.accept()
        read_head(behind)
        return peer, behind


@contextlib.contextmanager
def proxied(*words):
    with contextlib.ExitStack() as stack:
        upstream = Upstream(stack)
        program = stack.enter_context(Program("reverse_proxy", upstream.address, "127.0.0.1:0", *words))
        yield Proxy(stack, program), upstream
        code, _, errors = program.end()
        assert (code, errors) == (0, "")


def status(peer):
    return int(read_head(peer).split()[1])


def expect_that_it_serves(proxy, upstream):
    peer, behind = proxy.passes_on(upstream)
    behind.sendall(ANSWER)
    assert status(peer) == 200 and read_exactly(peer, 4) == b"body"


def test_an_upstream_that_refuses_is_502():
    with proxied() as (proxy, upstream):
        upstream.close()
        assert [proxy.status() for _ in range(3)] == [502] * 3
        assert proxy.status(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc") == 502


@pytest.mark.parametrize("said", [
    b"", b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"\0\r\n\r\n",
    b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"])
def test_an_upstream_that_makes_no_sense_is_502(said):
    with proxied() as (proxy, upstream):
        peer, behind = proxy.passes_on(upstream)
        behind.sendall(said)
        behind.close()
        assert status(peer) == 502
        expect_that_it_serves(proxy, upstream)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 102 Processing\r\n\r\n"])
def test_an_upstream_that_never_answers_is_504(said):
    with proxied(100) as (proxy, upstream):
        peer = proxy.send()
        behind = upstream.accept()
        assert read_head(behind).startswith(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the proxy may have given up by now
            behind.sendall(said)
            assert behind.recv(1) == b"", "the proxy must close the connection"
        answer = status(peer)
        if said and answer == 102:  # the proxy has passed on the 102, which is not the final answer
            answer = status(peer)
        assert answer == 504
    with proxied() as (proxy, upstream):
        expect_that_it_serves(proxy, upstream)


@pytest.mark.parametrize("codings", [b"gzip, chunked", b"chunked, gzip", b"gzip"])
def test_a_transfer_coding_that_would_be_taken_for_the_body_is_502(codings):
    with proxied() as (proxy, upstream):
        peer, behind = proxy.passes_on(upstream)
        behind.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + codings + b"\r\n\r\n2\r\nxx\r\n0\r\n\r\n")
        assert status(peer) == 502


def test_interim_answers_are_passed_on():
    with proxied() as (proxy, upstream):
        peer, behind = proxy.passes_on(upstream)
        behind.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
        assert status(peer) == 102  # a 100 goes only to a client that expects it
        behind.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: X\r\nX: 1\r\n\r\n")
        head = read_head(peer)
        assert head.startswith(b"HTTP/1.1 103 ") and b"\r\nLink: </a.css>\r\n" in head and b"\r\nX: 1" not in head
        behind.sendall(ANSWER)
        head = read_head(peer)
        assert head.startswith(b"HTTP/1.1 200 ") and b"Link" not in head and head.count(b"\r\nVia: ") == 1
        assert read_exactly(peer, 4) == b"body"


def test_a_crowd_is_503_and_who_waits_is_served():
    with proxied(60_000, 1, 1) as (proxy, upstream):
        first, behind = proxy.passes_on(upstream)
        waiting = [proxy.send() for _ in range(4)]
        refused = []
        while len(refused) < 3:  # one of the four may wait, and it may be any
            ready, _, _ = select.select([peer for peer in waiting if peer not in refused], [], [], PATIENCE_SECONDS)
            assert ready
            for peer in ready:
                assert status(peer) == 503
                refused.append(peer)
        behind.sendall(ANSWER)
        assert status(first) == 200
        read_head(behind)
        behind.sendall(ANSWER)
        assert [status(peer) for peer in waiting if peer not in refused] == [200]


def test_who_waits_for_too_long_is_503():
    with proxied(2000, 1) as (proxy, upstream):
        slow, behind = proxy.passes_on(upstream)
        behind.sendall(ANSWER[:-1])  # the answer has begun, so the deadline for its first byte no longer applies
        assert status(slow) == 200
        assert proxy.status() == 503
        behind.sendall(ANSWER[-1:])
        assert read_exactly(slow, 4) == b"body"


@pytest.mark.parametrize("request_bytes, said", [
    (GET, b""),
    (GET, ANSWER[:-2]),
    (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nbegun", b""),
    (b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ANSWER[:-2]),
])
def test_a_client_that_vanishes_ends_what_it_asked_for(request_bytes, said):
    with proxied() as (proxy, upstream):
        peer, behind = proxy.passes_on(upstream, request_bytes)
        behind.sendall(said)
        if said:
            assert status(peer) == 200
        reset(peer)
        with contextlib.suppress(ConnectionResetError):
            while behind.recv(65536):
                pass
        expect_that_it_serves(proxy, upstream)


def test_a_client_that_hangs_up_while_the_upstream_is_asked():
    with proxied() as (proxy, upstream):
        peer, behind = proxy.passes_on(upstream)
        peer.close()
        # the proxy may or may not have noticed the end
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            behind.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(1_000_000))
        expect_that_it_serves(proxy, upstream)


def upload(peer, size, answer_size=0):
    """Sends a body of `size` bytes, and reads the answer meanwhile. Returns what was received.

    Ends when everything is sent and `answer_size` bytes have come, or when the answer refuses the rest of the body.
    """
    received = bytearray()
    peer.setblocking(False)
    piece = memoryview(bytes(65536))
    while (size > 0 or len(received) < answer_size) and not received.startswith(b"HTTP/1.1 413 "):
        readable, writable, _ = select.select([peer], [peer] if size > 0 else [], [], PATIENCE_SECONDS)
        assert readable or writable, f"nothing moves, and {size} bytes are not sent yet"
        if readable:
            more = peer.recv(1 << 20)
            assert more, f"the connection ended, and {size} bytes are not sent yet"
            received += more
        if writable:
            with contextlib.suppress(BlockingIOError):
                size -= peer.send(piece[:size])
    return received


# Before, both sides waited for each other if a body was long: the proxy did not read from a side to which it had much
# to send.
def test_an_upstream_that_refuses_in_the_midst_of_a_body():
    size = 200_000_000
    with proxied() as (proxy, upstream), concurrent.futures.ThreadPoolExecutor(1) as pool:
        peer = proxy.send(f"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode())
        behind = upstream.accept()
        answer = pool.submit(upload, peer, size)
        read_head(behind)
        read_exactly(behind, 10_000_000)
        behind.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nbody")
        assert answer.result().startswith(b"HTTP/1.1 413 ")
        expect_that_it_serves(proxy, upstream)


def test_an_upstream_that_sends_much_more_than_it_gets():
    size, times = 1_000_000, 40
    with proxied() as (proxy, upstream), concurrent.futures.ThreadPoolExecutor(1) as pool:
        peer = proxy.send(f"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode())
        behind = upstream.accept()
        answer = pool.submit(upload, peer, size, size * times)
        read_head(behind)
        behind.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size * times}\r\n\r\n".encode())
        left = size
        while left > 0:
            piece = behind.recv(65536)
            left -= len(piece)
            behind.sendall(piece * times)
        received = answer.result()
        peer.settimeout(PATIENCE_SECONDS)
        read_exactly(peer, received.index(b"\r\n\r\n") + 4 + size * times - len(received))


# A TRACE or OPTIONS says how often it may be passed on. The last server answers it, the others count the number down
# (RFC 9110 7.6.2).
@pytest.mark.parametrize("method", ["TRACE", "OPTIONS"])
@pytest.mark.parametrize("allowed, passed_on", [("1", "0"), ("007", "6"), ("9" * 30, "4294967294")])
def test_max_forwards_is_counted_down(method, allowed, passed_on):
    with proxied() as (proxy, upstream):
        peer = proxy.send(f"{method} /a HTTP/1.1\r\nHost: h\r\nmax-forwards: {allowed}\r\n\r\n".encode())
        behind = upstream.accept()
        head = read_head(behind).decode()
        assert head.startswith(f"{method} /a HTTP/1.1\r\n")
        assert head.lower().count("max-forwards") == 1 and f"\r\nMax-Forwards: {passed_on}\r\n" in head
        behind.sendall(ANSWER)
        assert status(peer) == 200 and read_exactly(peer, 4) == b"body"


def test_max_forwards_of_none_is_answered_by_the_proxy():
    with proxied() as (proxy, upstream):
        trace = proxy.send(b"TRACE /a?b HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\nCookie: secret\r\nX-Y: z\r\n\r\n")
        head = read_head(trace).decode()
        assert head.startswith("HTTP/1.1 200 ") and "\r\nContent-Type: message/http\r\n" in head
        seen = b"TRACE /a?b HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\nX-Y: z\r\n\r\n"
        assert read_exactly(trace, len(seen)) == seen
        head = read_head(proxy.send(b"OPTIONS /a HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 204 ") and "\r\nAllow: OPTIONS, TRACE\r\n" in head
        for malformed in (b"", b"-1", b"1x", b"1\r\nMax-Forwards: 1"):
            assert proxy.status(b"TRACE / HTTP/1.1\r\nHost: h\r\nMax-Forwards: " + malformed + b"\r\n\r\n") == 400
        expect_that_it_serves(proxy, upstream)  # this also shows that the upstream got no request before


def test_max_forwards_of_another_method_is_passed_on_as_it_came():
    with proxied() as (proxy, upstream):
        proxy.send(b"GET / HTTP/1.1\r\nHost: h\r\nMax-Forwards: 0\r\n\r\n")
        assert b"\r\nMax-Forwards: 0\r\n" in read_head(upstream.accept())


# A CONNECT is passed on like other requests. If it is answered with 2xx, the two connections become a tunnel.
def test_connect_goes_to_the_upstream_and_becomes_a_tunnel():
    with proxied() as (proxy, upstream):
        peer = proxy.send(b"CONNECT far:1 HTTP/1.1\r\nHost: far:1\r\n\r\n")
        behind = upstream.accept()
        assert read_head(behind).startswith(b"CONNECT far:1 HTTP/1.1\r\n")
        behind.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntunnel")
        head = read_head(peer)
        assert head.startswith(b"HTTP/1.1 200 ") and b"Content-Length" not in head
        assert read_exactly(peer, 6) == b"tunnel"
        peer.sendall(b"through")
        assert read_exactly(behind, 7) == b"through"


# The proxy itself answers 400. The upstream's own answer, which may still come, is ignored.
def test_a_body_that_turns_out_to_be_nonsense():
    with proxied() as (proxy, upstream):
        begun = b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        peer, behind = proxy.passes_on(upstream, begun)
        peer.sendall(b"nonsense\r\n")
        assert status(peer) == 400
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            behind.sendall(ANSWER)
        expect_that_it_serves(proxy, upstream)


@pytest.mark.parametrize("words", [["0"], ["x"], ["100", "0"], ["100", "1", "-1"]])
def test_what_is_no_number(words):
    code, printed, errors = run_program("reverse_proxy", "127.0.0.1:9", "127.0.0.1:0", *words)
    assert (code, printed) == (1, "") and "Invalid argument" in errors
