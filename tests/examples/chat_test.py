# SPDX-License-Identifier: BSD-3-Clause
"""The chat room in its four thread models. All four must behave the same."""
import struct

import pytest

from programs import Program, connect, joined, read_exactly, run_program

SERVERS = ["chat_server", "chat_server_locked", "chat_server_snapshot", "chat_server_thread_local"]


def message(text):
    return struct.pack("!I", len(text)) + text


def read_message(peer):
    (size,) = struct.unpack("!I", read_exactly(peer, 4))
    return read_exactly(peer, size)


@pytest.mark.parametrize("server", SERVERS)
def test_everybody_hears_each_message_once_and_in_order(server):
    with Program(server, "127.0.0.1:0") as room:
        address = room.address()
        peers = [connect(address) for _ in range(8)]
        try:
            for peer in peers:  # a peer is in the room when it receives its own message
                peer.sendall(message(b"hello"))
                while read_message(peer) != b"hello":
                    pass
            texts = [b"%d" % number for number in range(200)]
            peers[0].sendall(b"".join(map(message, [b"begin", *texts])))
            for peer in peers:  # the messages of others may come in between
                while read_message(peer) != b"begin":
                    pass
                heard = []
                while len(heard) < len(texts):
                    if (text := read_message(peer)) != b"hello":
                        heard.append(text)
                assert heard == texts
        finally:
            for peer in peers:
                peer.close()
        assert room.end()[0] == 0


@pytest.mark.parametrize("server", SERVERS)
def test_a_length_beyond_all_sense_is_hung_up_on(server):
    with Program(server, "127.0.0.1:0") as room, connect(room.address()) as peer:
        peer.sendall(b"\xff\xff\xff\xff")
        assert peer.recv(1) == b""


@pytest.mark.parametrize("server", SERVERS)
def test_a_load_of_chatter(server):
    with Program(server, "127.0.0.1:0") as room:
        code, printed, errors = run_program("chat_load", joined(room.address()), 20, 50)
        assert (code, errors) == (0, "")
        assert printed.startswith("20 clients, 50 messages to everybody: median ")


def test_the_client_cuts_a_line_that_is_longer_than_a_message_may_be():
    with Program("chat_server", "127.0.0.1:0") as room:
        address = room.address()
        with connect(address) as peer, Program("chat_client", joined(address)) as client:
            peer.sendall(message(b"hello"))
            read_message(peer)
            client.type(b"x" * 70_000 + b"\n")
            assert read_message(peer) == b"x" * 65536
            while client.line() != "x" * 65536:  # the client may have received the greeting first
                pass
            client.type(b"short\n")
            assert read_message(peer) == b"short"


def test_the_client_talks_and_listens():
    with Program("chat_server", "127.0.0.1:0") as room:
        address = room.address()
        with connect(address) as peer, Program("chat_client", joined(address)) as client:
            peer.sendall(message(b"anybody here?"))
            read_message(peer)
            client.type(b"I am\n")
            assert read_message(peer) == b"I am"
            code, printed, _ = client.wait()
            assert code == 0 and "I am\n" in printed
