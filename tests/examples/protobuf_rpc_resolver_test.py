# SPDX-License-Identifier: BSD-3-Clause
"""Looks up names by remote procedure calls. The test runs the name server."""
import contextlib
import socket
import struct
import threading

from programs import Program, connect, joined, one_client, read_all, run_program
from protobuf_frames import call_of, error, field, read_frame, request, response

SERVICE = b"resolver.ResolverService"
NAMES = {b"two.example": ["192.0.2.1", "192.0.2.255"], b"one.example": ["198.51.100.7"]}
NOT_RESOLVED = b"\x08\x00"


def dns_answer(question):
    """Returns the answer to a question about one name: the addresses of NAMES, no IPv6 address, or "no such name"."""
    end = question.index(b"\0", 12)
    name, at = [], 12
    while at < end:
        name.append(question[at + 1:at + 1 + question[at]])
        at += 1 + question[at]
    kind, = struct.unpack_from(">H", question, end + 1)
    addresses = NAMES.get(b".".join(name))
    found = addresses if addresses and kind == 1 else []
    head = question[:2] + struct.pack(">HHHHH", 0x8180 if addresses else 0x8183, 1, len(found), 0, 0)
    records = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(ip) for ip in found)
    return head + question[12:end + 5] + records


@contextlib.contextmanager
def name_server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve():
            while (asked := server.recvfrom(512))[0]:
                server.sendto(dns_answer(asked[0]), asked[1])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield joined(server.getsockname())
        finally:
            server.sendto(b"", server.getsockname())
            thread.join()


def test_names_are_looked_up_side_by_side():
    with name_server() as names, Program("rpc_resolver_server", "127.0.0.1:0", names) as server:
        asked = ["one.example", "none.example", "two.example", "localhost", "192.0.2.9", "::1", "no name"]
        code, printed, errors = run_program("rpc_resolver_client", joined(server.address()), *asked)
        assert (code, errors) == (0, "")
        lines = [line.split(" ") for line in printed.splitlines()]
        two = lines.pop(2)
        assert two[0] == "two.example" and sorted(two[1:]) == NAMES[b"two.example"]
        assert [" ".join(line) for line in lines] == [
            "one.example 198.51.100.7", "none.example not found", "localhost 127.0.0.1", "192.0.2.9 192.0.2.9",
            "::1 not found", "no name not found"]
        assert server.end() == (0, "", "")


def test_a_server_answers_the_frames_of_muduo():
    with name_server() as names, Program("rpc_resolver_server", "127.0.0.1:0", names) as server:
        with connect(server.address()) as peer:
            for call, name in enumerate([b"one.example", b"none.example"]):
                peer.sendall(request(call, SERVICE, b"Resolve", field(1, name)))
            found = b"\x08\x01\x15" + socket.inet_aton("198.51.100.7") + b"\x18\x00"
            assert sorted([read_frame(peer), read_frame(peer)]) == [response(1, NOT_RESOLVED), response(0, found)]


def test_a_client_prints_the_answers_that_it_has():
    def answer(peer):
        calls = [call_of(read_frame(peer)), call_of(read_frame(peer))]
        found = b"\x08\x01" + b"".join(b"\x15" + socket.inet_aton(f"192.0.2.{i}") for i in (1, 2))
        peer.sendall(response(calls[1], found) + error(calls[0], 100))
        assert read_all(peer) == b""

    with one_client(answer) as address:
        printed = run_program("rpc_resolver_client", joined(address), "busy", "found")
        assert printed == (1, "found 192.0.2.1 192.0.2.2\n", "busy: the server has too many calls under way\n")


def test_a_client_says_how_it_is_called():
    code, printed, errors = run_program("rpc_resolver_client", "127.0.0.1:1")
    assert (code, printed) == (2, "") and errors.startswith("usage: rpc_resolver_client ")
