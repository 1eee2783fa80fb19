# SPDX-License-Identifier: BSD-3-Clause
"""The store that four loops share: whichever loop has the client finds every key, and one limit holds on all."""
import http.client
import re

from programs import PATIENCE_SECONDS, Program

KEYS = 200


def ask(client, method, path, body=None):
    client.request(method, path, body)
    answer = client.getresponse()
    return answer.status, answer.read()


def connect(address):
    return http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)


def test_every_connection_finds_every_key():
    with Program("shared_key_value", "127.0.0.1:0", 4, 1_000_000) as program:
        address = program.address()
        clients = [connect(address) for _ in range(8)]  # the kernel gives each to one of the loops
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


def test_the_limit_is_that_of_all_loops_together():
    with Program("shared_key_value", "127.0.0.1:0", 4, 20) as program:
        address = program.address()
        statuses = []
        while 429 not in statuses:
            client = connect(address)
            statuses.append(ask(client, "GET", "/keys/a")[0])
            client.close()
            assert len(statuses) < 1000
        assert statuses.count(404) >= 20
        assert program.end()[0] == 0
