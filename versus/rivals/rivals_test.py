# SPDX-License-Identifier: BSD-3-Clause
"""Each rival that scripts/rivals has built answers correctly when it is started as the harness starts it. PEAL_RIVALS
names the list that scripts/rivals has written (default: build/rivals/contenders.txt). If there is no list, or no rival
of a kind was built, these tests do not run.
"""

import json
import os
import random
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from versus import roster
from versus.lockstep import receive
from versus.run import process

LIST = Path(os.environ.get("PEAL_RIVALS", "build/rivals/contenders.txt"))
PATIENCE_S = 30
CONNECTIONS = 1000
DATE = r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
GET = b"GET /collect?v=1 HTTP/1.1\r\nHost: a\r\n\r\n"
CLOSING = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
# Headers that a library writes itself, whatever its program sets (docs/contenders.md).
SERVER = {"cppcms": r"CppCMS-Embedded/[\d.]+"}
KEEPS_NOTHING = {"cppcms"}  # keeps a connection only for clients that send "Connection: keep-alive"


def listed(kind):
    built = map(roster.given, roster.listed_in(LIST)) if LIST.exists() else ()
    return [pytest.param(contender, id=contender.name) for contender in built if contender.kind == kind]


@pytest.fixture(autouse=True, scope="module")
def many_fds():
    process.raise_fd_limit()


def serving(contender, threads):
    return process.serving(contender.for_threads(threads), knock=True)


def connect(server):
    return socket.create_connection((server.host, server.port), timeout=PATIENCE_S)


def answer(stream, data=GET):
    """Sends a request. Returns the status code, the headers by lower-case name, and the body of the answer."""
    stream.sendall(data)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += receive(stream, 1)
    status, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(status.split()[1]), headers, receive(stream, int(headers["content-length"]))


def ends_well(server):
    assert process.stop(server.child), "SIGTERM must end the server"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("contender", listed(roster.PINGPONG))
def test_a_thousand_clients_get_their_bytes_back(contender, threads):
    with serving(contender, threads) as server:
        streams = [connect(server) for _ in range(CONNECTIONS)]
        for at, stream in enumerate(streams):
            stream.sendall(at.to_bytes(4, "big") * 16)
        for at, stream in enumerate(streams):
            assert receive(stream, 64) == at.to_bytes(4, "big") * 16
            stream.close()
        with connect(server) as stream:
            data = random.Random(1).randbytes(4 << 20)
            sender = threading.Thread(target=stream.sendall, args=(data,))
            sender.start()
            assert receive(stream, len(data)) == data
            sender.join()
        ends_well(server)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("contender", listed(roster.HTTP))
def test_the_answer_has_the_fields_and_body_of_all_contenders(contender, threads):
    keeps = contender.name not in KEEPS_NOTHING
    with serving(contender, threads) as server:
        streams = [connect(server) for _ in range(CONNECTIONS)]
        for stream in streams * (2 if keeps else 1):
            status, headers, body = answer(stream)
            assert (status, body) == (200, b"Hello, World!")
            assert set(headers) == {"server", "date", "content-type", "content-length", "connection"}
            assert re.fullmatch(SERVER.get(contender.name, "bench"), headers["server"])
            assert re.fullmatch(DATE, headers["date"]) and headers["content-type"] == "text/plain"
            assert headers["connection"].lower() == ("keep-alive" if keeps else "close")
        for stream in streams:
            stream.close()
        for _ in range(300):
            with connect(server) as stream:
                status, headers, body = answer(stream, CLOSING)
                assert (status, headers["connection"], body) == (200, "close", b"Hello, World!")
                assert stream.recv(1) == b""
        with connect(server) as stream:
            stream.sendall(CLOSING.replace(b"GET / ", b"GET /collects "))
            assert receive(stream, 12)[9:] == b"404"
        ends_well(server)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("contender", listed(roster.MODEL))
def test_frames_come_back_unchanged(contender, threads):
    with serving(contender, threads) as server:
        streams = [connect(server) for _ in range(CONNECTIONS)]
        for _ in range(2):
            for at, stream in enumerate(streams):
                body = bytes([at % 256]) * (at + 1)
                stream.sendall(len(body).to_bytes(4, "big") + body)
            for at, stream in enumerate(streams):
                assert int.from_bytes(receive(stream, 4), "big") == at + 1
                assert receive(stream, at + 1) == bytes([at % 256]) * (at + 1)
        for stream in streams:
            stream.close()
        ends_well(server)


@pytest.mark.parametrize("timeouts", [False, True])
@pytest.mark.parametrize("contender", listed(roster.DRUM))
def test_the_drum_receives_every_byte(contender, timeouts):
    words = ["-n", "300", "-a", "20", "-w", "900", "--rounds", "4", "--json", "-"]
    words += ["--timeouts"] if timeouts else []
    done = subprocess.run([*contender.command, *words], text=True, capture_output=True, timeout=PATIENCE_S, check=True)
    found = json.loads(done.stdout)
    assert found["timeouts"] is timeouts and found["idle"] in ({"touch", "rearm"} if timeouts else {"none"})
    assert [each["receives"] for each in found["rounds"]] == [920] * 4
    assert all(each["waits"] >= 1 and each["total_ns"] >= each["loop_ns"] > 0 for each in found["rounds"])
