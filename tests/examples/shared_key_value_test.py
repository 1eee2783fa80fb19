# SPDX-License-Identifier: BSD-3-Clause
"""The store that four loops share: each loop finds every key, and one rate limit applies to all loops together."""
import http.client
import re
import socket
import time

from programs import PATIENCE_SECONDS, Program, answered

KEYS = 200


def ask(client, method, path, body=None):
    answer, text = answered(client, method, path, body)
    return answer.status, text


def connect(address):
    return http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)


def test_every_connection_finds_every_key():
    with Program("shared_key_value", "127.0.0.1:0", 4, 1_000_000) as program:
        address = program.address()
        clients = [connect(address) for _ in range(8)]  # the kernel gives each connection to one of the loops
        for i in range(KEYS):
            assert ask(clients[i % 8], "PUT", f"/keys/{i}", f"text {i}".encode()) == (204, b"")
        for i in range(KEYS):
            assert ask(clients[(i + 3) % 8], "GET", f"/keys/{i}") == (200, f"text {i}".encode())
        status, text = ask(clients[0], "GET", "/stats")
        counts = [int(count) for count in re.findall(rb"loop \d: (\d+) keys\n", text)]
        assert status == 200 and len(counts) == 4 and sum(counts) == KEYS and min(counts) > 0
        assert ask(clients[1], "DELETE", "/keys/7")[0] == 204
        assert ask(clients[2], "DELETE", "/keys/7")[0] == 404
        assert ask(clients[3], "GET", "/keys/7")[0] == 404
        assert ask(clients[4], "PUT", "/keys/b?ttl=600", b"b")[0] == 204
        assert ask(clients[4], "PUT", "/keys/b?ttl=soon", b"b")[0] == 400
        assert ask(clients[5], "PUT", "/keys/b", b"x" * 65537)[0] == 413
        for client in clients:
            client.close()
        code, _, errors = program.end()
        assert (code, errors) == (0, "")


# The number of allowed requests follows from the limit and from the time that the test took, however long that was.
def test_the_limit_is_that_of_all_loops_together():
    limit = 20
    with Program("shared_key_value", "127.0.0.1:0", 4, limit) as program:
        address = program.address()
        begin = time.monotonic()
        clients = [socket.create_connection(address, PATIENCE_SECONDS) for _ in range(16)]
        for client in clients:
            client.sendall(b"GET /keys/a HTTP/1.1\r\nHost: a\r\n\r\n" * 99
                           + b"GET /keys/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        statuses = []
        for client in clients:
            with client, client.makefile("rb") as answers:
                statuses += re.findall(rb"HTTP/1.1 (\d+) ", answers.read())
        most = limit * (time.monotonic() - begin + 1) + 1
        assert len(statuses) == 1600 and set(statuses) <= {b"404", b"429"}
        assert limit <= statuses.count(b"404") <= most
        assert program.end()[0] == 0
