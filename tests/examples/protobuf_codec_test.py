# SPDX-License-Identifier: BSD-3-Clause
"""The protobuf programs with each other, and each of them against frames that the test makes as muduo sends them."""
import struct

import pytest

from programs import Program, connect, joined, one_client, read_all, run_program
from protobuf_frames import framed, read_frame

QUERY = b"\x08\x07\x12\x03Ada\x1a\x04Why?\x1a\x05When?"  # id, questioner, questions
ANSWER = b"\x08\x07\x12\x03Ada\x1a\x04peal\x22\x09Why? Yes.\x22\x0aWhen? Yes."  # id, questioner, answerer, solutions


def frame(name, message):
    return framed(struct.pack(">I", len(name) + 1) + name + b"\0" + message)


def test_questions_are_answered_and_an_empty_message_by_another():
    with Program("codec_server", "127.0.0.1:0") as server:
        address = joined(server.address())
        printed = "muduo.Answer\npeal answers query 1 of codec_client\nRunning? Yes.\nFar? Yes.\n"
        assert run_program("codec_client", address, "Running?", "Far?") == (0, printed, "")
        assert run_program("codec_client", address) == (0, "muduo.Empty\n", "")
        assert server.end() == (0, "", "")


@pytest.mark.parametrize("asked, answered", [
    (frame(b"muduo.Query", QUERY), frame(b"muduo.Answer", ANSWER)),
    (frame(b"muduo.Empty", b"\x08\x05"), frame(b"muduo.Empty", b"\x08\x05")),
])
def test_a_server_sends_the_frames_of_muduo_and_ends_the_connection(asked, answered):
    with Program("codec_server", "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.sendall(asked[:9])
        peer.sendall(asked[9:])
        assert read_all(peer) == answered


@pytest.mark.parametrize("sent, why", [
    (frame(b"muduo.Answer", ANSWER), 'type "muduo.Answer"'),
    (frame(b"muduo.Query", QUERY[:5]), 'type "muduo.Query"'),
    (frame(b"muduo.Query", QUERY)[:-1] + b"\0", "checksum"),
    (struct.pack(">I", 65537), "65537 bytes"),
], ids=["not_for_servers", "cut_off", "damaged", "too_long"])
def test_a_server_ends_a_connection_whose_message_it_cannot_use(sent, why):
    with Program("codec_server", "127.0.0.1:0") as server:
        address = server.address()
        with connect(address) as peer:
            peer.sendall(sent)
            assert read_all(peer) == b""
        assert run_program("codec_client", joined(address))[0] == 0
        code, _, errors = server.end()
        assert code == 0 and " refused: " in errors and why in errors


def test_a_client_sends_a_frame_of_muduo_and_prints_what_comes():
    asked = []

    def answer(peer):
        asked.append(read_frame(peer))
        peer.sendall(frame(b"muduo.Answer", ANSWER))
        assert read_all(peer) == b""

    with one_client(answer) as address:
        printed = "muduo.Answer\npeal answers query 7 of Ada\nWhy? Yes.\nWhen? Yes.\n"
        assert run_program("codec_client", joined(address), "Why?") == (0, printed, "")
    assert asked == [frame(b"muduo.Query", b"\x08\x01\x12\x0ccodec_client\x1a\x04Why?")]


def test_a_client_prints_what_a_server_sends_so_that_it_does_not_drive_the_terminal():
    def answer(peer):
        read_frame(peer)
        peer.sendall(frame(b"muduo.Answer", b"\x08\x07\x12\x02A\n\x1a\x04\x1b[2J\x22\x01\x07"))

    with one_client(answer) as address:
        printed = "muduo.Answer\n\\x1B[2J answers query 7 of A\\x0A\n\\x07\n"
        assert run_program("codec_client", joined(address), "Why?") == (0, printed, "")


@pytest.mark.parametrize("reply, sentence", [
    (b"", "the server ended without an answer\n"),
    (frame(b"muduo.Empty", b"")[:-1], "no answer: "),
    (frame(b"muduo.Query", QUERY), "no answer: "),
], ids=["nothing", "half", "a_query"])
def test_a_client_without_an_answer_says_why(reply, sentence):
    def answer(peer):
        read_frame(peer)
        peer.sendall(reply)

    with one_client(answer) as address:
        code, printed, errors = run_program("codec_client", joined(address))
    assert (code, printed) == (1, "") and errors.startswith(sentence)


def test_a_client_says_that_nobody_listens_and_how_it_is_called():
    code, printed, errors = run_program("codec_client", "127.0.0.1:1")
    assert (code, printed) == (1, "") and errors.startswith("cannot connect to 127.0.0.1:1: ")
    code, _, errors = run_program("codec_client")
    assert code == 2 and errors.startswith("usage: codec_client ")
