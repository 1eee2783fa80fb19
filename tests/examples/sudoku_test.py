# SPDX-License-Identifier: BSD-3-Clause
"""The sudoku service in its five thread models."""
import pytest

from programs import Program, connect, joined, read_all, run_program

SERVERS = ["sudoku_one_loop", "sudoku_loops", "sudoku_pool", "sudoku_loops_and_pool", "sudoku_bounded"]
PUZZLE = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
SOLUTION = "693784512487512936125963874932651487568247391741398625319475268856129743274836159"


def ask(address, *lines):
    with connect(address) as peer:
        peer.sendall("".join(line + "\r\n" for line in lines).encode())
        answers = b""
        while answers.count(b"\r\n") < len(lines):
            chunk = peer.recv(65536)
            assert chunk, answers
            answers += chunk
        return sorted(answers.decode().split("\r\n")[:-1])


@pytest.mark.parametrize("server", SERVERS)
def test_solves_with_and_without_an_id_and_says_what_has_no_solution(server):
    with Program(server, "127.0.0.1:0") as service:
        impossible = "11" + "0" * 79
        answers = ask(service.address(), PUZZLE, "a:" + PUZZLE, "b:" + impossible)
        assert answers == sorted([SOLUTION, "a:" + SOLUTION, "b:NoSolution"])
        assert service.end()[0] == 0


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("nonsense", [b"12\r\n", b"x" * 5000, b"x" * 200 + b"\r\n", b"0" * 80 + b"a\r\n"])
def test_nonsense_gets_its_answer_and_the_end(server, nonsense):
    with Program(server, "127.0.0.1:0") as service, connect(service.address()) as peer:
        peer.sendall(nonsense)
        assert read_all(peer) == b"BadRequest\r\n"


@pytest.mark.parametrize("server", SERVERS)
def test_a_load_of_puzzles(server):
    with Program(server, "127.0.0.1:0") as service:
        code, printed, errors = run_program("sudoku_load", joined(service.address()), 4, 5, 0.5)
        assert (code, errors) == (0, "")
        assert "requests/s, 0 too busy" in printed


def test_a_full_queue_answers_at_once():
    with Program("sudoku_bounded", "127.0.0.1:0", 1, 1, 1) as service, connect(service.address()) as peer:
        peer.sendall((PUZZLE + "\r\n").encode() * 400)
        answers = b""
        while answers.count(b"\r\n") < 400:
            answers += peer.recv(65536)
        assert b"ServerTooBusy\r\n" in answers and SOLUTION.encode() in answers
