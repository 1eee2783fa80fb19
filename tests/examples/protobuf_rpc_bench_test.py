# SPDX-License-Identifier: BSD-3-Clause
"""The load generator for remote procedure calls, and its server."""
import re

import pytest

from programs import Program, connect, joined, one_client, run_program
from protobuf_frames import call_of, error, field, read_frame, request, response

SERVICE = b"echo.EchoService"
FIGURES = r"\d+ calls/s, p50 \d+ us, p90 \d+ us, p99 \d+ us\n"


def echo(call, text):
    return request(call, SERVICE, b"Echo", field(1, text))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_load_of_calls(threads):
    with Program("rpc_bench_server", "127.0.0.1:0", threads) as server:
        code, printed, errors = run_program("rpc_bench_client", joined(server.address()), 4, 5, 0.5)
        assert (code, errors) == (0, "") and re.fullmatch(FIGURES, printed) and not printed.startswith("0 ")
        assert server.end() == (0, "", "")


def test_calls_of_many_blocks():
    with Program("rpc_bench_server", "127.0.0.1:0") as server:
        code, printed, errors = run_program("rpc_bench_client", joined(server.address()), 1, 3, 0.5, 100_000)
        assert (code, errors) == (0, "") and re.fullmatch(FIGURES, printed)


def test_a_server_answers_the_frames_of_muduo():
    texts = [b"001010", b"", b"x" * 50]
    with Program("rpc_bench_server", "127.0.0.1:0") as server, connect(server.address()) as peer:
        peer.sendall(b"".join(echo(call, text) for call, text in enumerate(texts)))
        answers = [response(call, field(2, text)) for call, text in enumerate(texts)]
        assert sorted(read_frame(peer) for _ in texts) == sorted(answers)


@pytest.mark.parametrize("reply, sentence", [
    (lambda call: response(call, field(2, b"001011")), "a wrong answer"),
    (lambda call: error(call, 4), "the server cannot read the request"),
    (lambda call: b"", "the connection ended before the answer: the call may have been done"),
], ids=["another", "an_error", "none"])
def test_a_client_says_what_is_no_answer(reply, sentence):
    def answer(peer):
        peer.sendall(reply(call_of(read_frame(peer))))

    with one_client(answer) as address:
        printed = run_program("rpc_bench_client", joined(address), 1, 1, 3600)
        assert printed == (1, "0 calls/s, p50 0 us, p90 0 us, p99 0 us\n", f"rpc_bench_client: {sentence}\n")


def test_how_the_programs_are_called():
    for program, arguments in [("rpc_bench_client", ()), ("rpc_bench_client", ("127.0.0.1:1", 0)),
                               ("rpc_bench_server", ("127.0.0.1:0", 0))]:
        code, printed, errors = run_program(program, *arguments)
        assert (code, printed) == (2, "") and errors.startswith(f"usage: {program} ")
