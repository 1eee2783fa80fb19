# SPDX-License-Identifier: BSD-3-Clause
"""The raw balancer between clients and servers, with programs and with frames that the test makes itself."""
import contextlib
import re
import socket

import pytest

from programs import PATIENCE_SECONDS, Program, connect, joined, read_all, run_program, wait_until
from protobuf_frames import ERROR, REQUEST, call_of, error, field, framed, read_frame, request, response, rpc_frame

SERVICE = b"any.Service"


def with_id(frame, call):
    """Returns the same message with another id."""
    body = frame[4:-4]
    return framed(body[:7] + call.to_bytes(8, "little") + body[15:])


@contextlib.contextmanager
def balanced(count=1):
    """Runs a balancer. Yields it, its address and its connections to servers, which the test plays."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        names = [joined(listener.getsockname()) for listener in listeners]
        balancer = stack.enter_context(Program("rpc_raw_balancer", "127.0.0.1:0", *names))
        address = balancer.address()
        servers = []
        for listener in listeners:
            listener.settimeout(PATIENCE_SECONDS)
            servers.append(stack.enter_context(listener.accept()[0]))
            servers[-1].settimeout(PATIENCE_SECONDS)
        assert {balancer.line() for _ in names} == {f"connected to {name}" for name in names}
        yield balancer, address, servers


def test_a_call_is_passed_on_as_it_came_but_for_its_id():
    # The request has more bytes than fit one block, a deadline, and a field that the balancer does not know.
    fields = [field(3, SERVICE), b"\x2a\x80\x80\x20" + b"x" * 2**19, b"\xa0\x06\x05", b"\xf8\x3f\x07"]
    with balanced() as (balancer, address, (server,)), connect(address) as client:
        asked = rpc_frame(REQUEST, 2**64 - 5, *fields)
        client.sendall(asked)
        passed = read_frame(server)
        assert with_id(passed, 2**64 - 5) == asked
        server.sendall(response(call_of(passed), b"done"))
        assert read_frame(client) == response(2**64 - 5, b"done")
        assert balancer.end() == (0, "", "")


def test_clients_with_the_same_ids_get_their_own_answers_and_servers_take_turns():
    with balanced(2) as (_, address, servers), connect(address) as one, connect(address) as other:
        for client, text in ((one, b"one"), (other, b"other")):
            client.sendall(request(7, SERVICE, b"M", text) + request(8, SERVICE, b"M", text))
        for server in servers:
            passed = [read_frame(server), read_frame(server)]
            assert call_of(passed[0]) != call_of(passed[1])
            for frame in reversed(passed):
                server.sendall(response(call_of(frame), b"other" if b"other" in frame else b"one"))
        for client, text in ((one, b"one"), (other, b"other")):
            answers = sorted([read_frame(client), read_frame(client)], key=call_of)
            assert answers == [response(7, text), response(8, text)]


def test_an_answer_of_a_server_that_was_not_asked_is_passed_over():
    with balanced(2) as (_, address, (one, other)), connect(address) as client:
        client.sendall(request(7, SERVICE, b"M", b"") + request(8, SERVICE, b"M", b""))
        first, second = read_frame(one), read_frame(other)
        one.sendall(response(call_of(second), b"wrong") + response(call_of(first), b"right"))
        assert read_frame(client) == response(7, b"right")
        other.sendall(response(call_of(second), b"right"))
        assert read_frame(client) == response(8, b"right")


def test_a_server_hears_of_calls_that_nobody_waits_for():
    with balanced() as (_, address, (server,)), connect(address) as client:
        client.sendall(request(1, SERVICE, b"M", b"") + request(2, SERVICE, b"M", b""))
        first, second = read_frame(server), read_frame(server)
        client.sendall(rpc_frame(ERROR, 1) + rpc_frame(ERROR, 99))
        assert read_frame(server) == rpc_frame(ERROR, call_of(first))
        server.sendall(response(call_of(first), b"late"))
        client.shutdown(socket.SHUT_WR)
        assert read_frame(server) == rpc_frame(ERROR, call_of(second))
        assert read_all(client) == b""


def test_calls_of_a_lost_server_and_those_that_find_none_fail():
    with balanced() as (balancer, address, (server,)), connect(address) as client:
        client.sendall(request(1, SERVICE, b"M", b""))
        read_frame(server)
        server.close()
        assert read_frame(client) == error(1, 5)
        assert balancer.line().startswith("connected to ")  # connected again
        client.sendall(request(2, SERVICE, b"M", b""))
    with Program("rpc_raw_balancer", "127.0.0.1:0", "127.0.0.1:1") as balancer, connect(balancer.address()) as client:
        client.sendall(request(2, SERVICE, b"M", b""))
        assert read_frame(client) == error(2, 100)


@pytest.mark.parametrize("sent", [
    request(1, SERVICE, b"M", b"")[:-1] + b"\0",
    framed(b"RPC0\x11" + bytes(8) + b"\x08\x01"),
    framed(b"RPC1\x08\x01\x11" + bytes(8)),
    rpc_frame(4, 1),
    response(1, b""),
    framed(b"RPC0\x08\x01\x11" + bytes(7)),
    request(1, SERVICE, b"M", b"") * 2,
    b"\x7f\xff\xff\xff",
    rpc_frame(REQUEST, 1, b"\x11" + (2).to_bytes(8, "little")),
    rpc_frame(REQUEST, 1, b"\x08\x03"),
    rpc_frame(REQUEST, 1, b"\x1a\x7f"),
], ids=["checksum", "other_order", "tag", "type", "an_answer", "short", "one_id_twice", "too_long", "another_id_later",
        "another_type_later", "unreadable"])
def test_a_client_that_breaks_the_protocol_is_ended_and_others_are_served(sent):
    with balanced() as (_, address, (server,)):
        with connect(address) as bad, connect(address) as good:
            bad.sendall(sent)
            assert read_all(bad) == b""
            good.sendall(request(1, SERVICE, b"Good", b""))
            while b"Good" not in (passed := read_frame(server)):
                pass
            server.sendall(response(call_of(passed), b"well"))
            assert read_frame(good) == response(1, b"well")


def test_a_load_of_calls_through_a_balancer_while_a_server_goes_and_another_answers():
    with Program("rpc_bench_server", "127.0.0.1:0") as one, Program("rpc_bench_server", "127.0.0.1:0") as other:
        names = [joined(one.address()), joined(other.address())]
        with Program("rpc_raw_balancer", "127.0.0.1:0", *names) as balancer:
            address = joined(balancer.address())
            assert sorted([balancer.line(), balancer.line()]) == sorted(f"connected to {name}" for name in names)
            code, printed, errors = run_program("rpc_bench_client", address, 4, 5, 0.5)
            assert (code, errors) == (0, "") and re.match(r"[1-9]\d* calls/s, ", printed)
            assert one.end() == (0, "", "")
            wait_until(lambda: run_program("rpc_bench_client", address, 2, 2, 0.2)[0] == 0)
            assert balancer.end() == (0, "", "")


def test_how_it_is_called():
    code, printed, errors = run_program("rpc_raw_balancer", "127.0.0.1:0")
    assert (code, printed) == (2, "") and errors.startswith("usage: rpc_raw_balancer ")
    code, printed, errors = run_program("rpc_raw_balancer", "127.0.0.1:0", "nowhere")
    assert code == 1 and errors.startswith("cannot connect: ")
