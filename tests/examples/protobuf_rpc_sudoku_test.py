# SPDX-License-Identifier: BSD-3-Clause
"""Sudoku as a remote procedure: the programs with each other, and each of them against frames as muduo sends them."""
import pytest

from programs import Program, connect, joined, one_client, read_all, run_program
from protobuf_frames import call_of, error, field, framed, read_frame, request, response

PUZZLE = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
SOLUTION = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"
IMPOSSIBLE = "11" + "0" * 79
SERVICE = b"sudoku.SudokuService"
UNSOLVED = b"\x08\x00"
SOLVED = b"\x08\x01" + field(2, SOLUTION.encode())


def solve(call, puzzle):
    return request(call, SERVICE, b"Solve", field(1, puzzle.encode()))


def test_puzzles_are_solved_one_after_the_other():
    with Program("rpc_sudoku_server", "127.0.0.1:0") as server:
        printed = f"{SOLUTION}\nno solution\nno solution\n{SOLUTION}\n"
        puzzles = [PUZZLE, IMPOSSIBLE, "001010", SOLUTION]
        assert run_program("rpc_sudoku_client", joined(server.address()), *puzzles) == (0, printed, "")
        assert server.end() == (0, "", "")


def test_a_server_answers_the_frames_of_muduo_each_once():
    asked = [solve(1, "001010"), solve(2, PUZZLE), solve(2**64 - 1, IMPOSSIBLE)]
    with Program("rpc_sudoku_server", "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.sendall(b"".join(asked)[:60])
        peer.sendall(b"".join(asked)[60:])
        answers = {call_of(frame): frame for frame in (read_frame(peer) for _ in asked)}
        assert answers == {1: response(1, UNSOLVED), 2: response(2, SOLVED), 2**64 - 1: response(2**64 - 1, UNSOLVED)}


@pytest.mark.parametrize("asked, number", [
    (request(7, b"sudoku.Other", b"Solve", b""), 2),
    (request(7, SERVICE, b"Other", b""), 3),
    (request(7, SERVICE, b"Solve", b""), 4),
], ids=["service", "method", "request"])
def test_a_call_that_cannot_be_carried_out_is_answered_with_an_error(asked, number):
    with Program("rpc_sudoku_server", "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.sendall(asked + solve(8, PUZZLE))
        assert sorted([read_frame(peer), read_frame(peer)]) == sorted([error(7, number), response(8, SOLVED)])


def test_a_message_that_is_none_of_the_protocol_ends_the_connection():
    with Program("rpc_sudoku_server", "127.0.0.1:0") as server:
        address = server.address()
        with connect(address) as peer:
            peer.sendall(framed(b"RPC1\x08\x01"))
            assert read_all(peer) == b""
        assert run_program("rpc_sudoku_client", joined(address), PUZZLE) == (0, SOLUTION + "\n", "")
        code, _, errors = server.end()
        assert code == 0 and " refused: " in errors


def test_a_client_sends_a_call_and_prints_what_comes():
    asked = []

    def answer(peer):
        for solution in (SOLVED, UNSOLVED):
            asked.append(read_frame(peer))
            peer.sendall(response(call_of(asked[-1]), solution))
        assert read_all(peer) == b""

    with one_client(answer) as address:
        printed = f"{SOLUTION}\nno solution\n"
        assert run_program("rpc_sudoku_client", joined(address), PUZZLE, PUZZLE) == (0, printed, "")
    calls = [call_of(frame) for frame in asked]
    assert calls[0] != calls[1]
    # After the fields of muduo comes the deadline. It is less than the minute that the client has.
    for call, frame in zip(calls, asked):
        muduo = solve(call, PUZZLE)[4:-4]
        assert frame[4:].startswith(muduo) and frame[4 + len(muduo):-4].startswith(b"\xa0\x06")


def test_a_client_prints_what_a_server_sends_so_that_it_does_not_drive_the_terminal():
    def answer(peer):
        peer.sendall(response(call_of(read_frame(peer)), b"\x08\x01" + field(2, b"\x1b[2J\r")))

    with one_client(answer) as address:
        assert run_program("rpc_sudoku_client", joined(address), PUZZLE) == (0, "\\x1B[2J\\x0D\n", "")


@pytest.mark.parametrize("reply, sentence", [
    (lambda call: b"", "the connection ended before the answer"),
    (lambda call: response(call, SOLVED)[:-1], "the connection ended before the answer"),
    (lambda call: response(call + 1, SOLVED), "the connection ended before the answer"),
    (lambda call: error(call, 3), "the server's service has no such method"),
    (lambda call: response(call, b"\x0a"), "the server made no response"),
], ids=["nothing", "half", "of_another_call", "an_error", "no_message"])
def test_a_client_without_an_answer_says_why(reply, sentence):
    def answer(peer):
        peer.sendall(reply(call_of(read_frame(peer))))

    with one_client(answer) as address:
        code, printed, errors = run_program("rpc_sudoku_client", joined(address), PUZZLE)
    assert (code, printed) == (1, "") and errors.startswith(f"no answer from {joined(address)}: {sentence}")


def test_a_client_says_that_nobody_listens_and_how_it_is_called():
    code, printed, errors = run_program("rpc_sudoku_client", "127.0.0.1:1", PUZZLE)
    assert (code, printed) == (1, "") and errors.startswith("no answer from 127.0.0.1:1: there is no connection")
    code, _, errors = run_program("rpc_sudoku_client", "127.0.0.1:1")
    assert code == 2 and errors.startswith("usage: rpc_sudoku_client ")
