# SPDX-License-Identifier: BSD-3-Clause
"""The SOCKS proxy, driven by curl and by bytes sent by hand."""
import contextlib
import os
import select
import socket
import struct

import pytest

from programs import (Program, QuietHandler, connect, echo_once, free_port, http_server, joined, read_all, read_exactly,
                      run_tool)

BODY = bytes(range(256)) * 2000


class Pages(QuietHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        self.answer(200, BODY)


@pytest.mark.parametrize("option", ["--socks4", "--socks4a", "--socks5", "--socks5-hostname"])
def test_curl_fetches_a_page_through_it(option):
    with http_server(Pages) as server, Program("socks_proxy", "127.0.0.1:0") as proxy:
        url = f"http://localhost:{server.server_port}/"
        assert run_tool("curl", "-sS", "-4", "--noproxy", "", option, joined(proxy.address()), url) == BODY
        assert proxy.end()[0] == 0


def test_half_close_passes_through_and_early_bytes_go_first():
    with echo_once() as (_, port), Program("socks_proxy", "127.0.0.1:0") as proxy, connect(proxy.address()) as peer:
        request = b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack("!H", port)
        for byte in request:
            peer.sendall(bytes([byte]))
        peer.sendall(b"early")
        assert read_exactly(peer, 2) == b"\x05\x00"
        assert read_exactly(peer, 10)[:2] == b"\x05\x00"
        peer.sendall(b" and late")
        peer.shutdown(socket.SHUT_WR)
        assert read_all(peer) == b"early and late"


def test_what_cannot_be_connected_is_refused_in_each_protocols_words():
    with Program("socks_proxy", "127.0.0.1:0") as proxy:
        address = proxy.address()
        port = struct.pack("!H", free_port())
        with connect(address) as peer:
            peer.sendall(b"\x04\x01" + port + b"\x7f\x00\x00\x01user\x00")
            assert read_all(peer) == b"\x00\x5b" + bytes(6)
        with connect(address) as peer:
            peer.sendall(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01" + port)
            assert read_all(peer) == b"\x05\x00" + b"\x05\x05\x00\x01" + bytes(6)


@pytest.mark.parametrize("host", [b"unix:@peal-socks-%d", b"unix", b"unix:peal-socks-%d", b"@peal-socks-%d"])
def test_a_name_that_reads_as_a_unix_socket_reaches_none(tmp_path, host):
    """If such a name worked, clients of the proxy would reach sockets that are for processes of this machine only."""
    host = host % os.getpid() if b"%d" in host else host
    names = ["80", f"peal-socks-{os.getpid()}:80", f"@peal-socks-{os.getpid()}:80"]
    with contextlib.ExitStack() as stack:
        listeners = []
        for place in [str(tmp_path / name) for name in names] + ["\0" + name for name in names]:
            listeners.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            listeners[-1].bind(place)
            listeners[-1].listen()
        address = stack.enter_context(Program("socks_proxy", "127.0.0.1:0", cwd=tmp_path)).address()
        with connect(address) as peer:
            peer.sendall(b"\x05\x01\x00" + b"\x05\x01\x00\x03" + bytes([len(host)]) + host + b"\x00\x50")
            assert read_exactly(peer, 2) == b"\x05\x00"
            assert read_exactly(peer, 10)[1] != 0
        if host != b"unix":  # this name is looked up by the machine's name servers, and once is enough
            with connect(address) as peer:
                peer.sendall(b"\x04\x01\x00\x50\x00\x00\x00\x01user\x00" + host + b"\x00")
                assert read_all(peer)[:2] == b"\x00\x5b"
        assert not select.select(listeners, [], [], 0)[0]


def test_a_client_that_never_says_whom_it_wants_is_hung_up_on():
    with Program("socks_proxy", "127.0.0.1:0", "1") as proxy:
        address = proxy.address()
        with connect(address) as silent, connect(address) as greeted, connect(address) as named:
            greeted.sendall(b"\x05\x01\x00")
            named.sendall(b"\x04\x01\x00\x50\x00\x00\x00\x01user")
            assert read_all(silent) == b""
            assert read_all(greeted) == b"\x05\x00"
            assert read_all(named) == b""


def test_one_that_is_piped_is_under_no_deadline():
    with echo_once() as (_, port), Program("socks_proxy", "127.0.0.1:0", "1") as proxy:
        address = proxy.address()
        with connect(address) as peer, connect(address) as silent:
            peer.sendall(b"\x05\x01\x00" + b"\x05\x01\x00\x01\x7f\x00\x00\x01" + struct.pack("!H", port))
            assert read_exactly(peer, 12)[:4] == b"\x05\x00\x05\x00"
            assert read_all(silent) == b""  # `silent` connected later, and its deadline has passed
            peer.sendall(b"still there")
            peer.shutdown(socket.SHUT_WR)
            assert read_all(peer) == b"still there"


@pytest.mark.parametrize("sent, answer", [
    (b"GET / HTTP/1.1\r\n\r\n", b""),
    (b"\x05\x01\x02", b"\x05\xff"),  # the client wants a password
    (b"\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", b"\x05\x00\x05\x07\x00\x01" + bytes(6)),  # BIND
    (b"\x04\x02\x00\x50\x7f\x00\x00\x01\x00", b"\x00\x5b" + bytes(6)),
    (b"\x04\x01\x00\x50\x00\x00\x00\x01" + b"x" * 2000, b"\x00\x5b" + bytes(6)),
])
def test_what_is_no_request_for_it_is_hung_up_on(sent, answer):
    with Program("socks_proxy", "127.0.0.1:0") as proxy, connect(proxy.address()) as peer:
        peer.sendall(sent)
        assert read_all(peer) == answer
