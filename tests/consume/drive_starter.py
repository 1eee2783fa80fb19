# SPDX-License-Identifier: BSD-3-Clause
"""Drives the service of a project that `peal new` has written: drive_starter.py KIND PREFIX PROGRAM. Talks to it, runs
its health check, sends it garbage, opens more connections than it takes, and ends it by SIGTERM while a client waits
for an answer."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

PATIENCE_SECONDS = 60
CONNECTIONS = 20
HALF = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
# What a client of each kind sends before SIGTERM and after it: a request, half of another one, and the other half. The
# last item is how the answer to the other one begins.
REQUESTS = {"tcp": (b"put late 1\nget la", b"te\n", b"= 1\n"),
            "http": (HALF + b"\r\n" + HALF, b"\r\n", b"HTTP/1.1 200 ")}


def connect(address):
    return socket.create_connection(address, timeout=PATIENCE_SECONDS)


def wait_until(happened):
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < give_up


def read_all(peer):
    """Returns the bytes up to the end of the connection. A reset is an end, too."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while chunk := peer.recv(65536):
            data += chunk
    return data


def talk_tcp(address, _):
    with connect(address) as peer:
        peer.sendall(b"ping\nput city Paris\nget city\ndel city\nget city\nput city\x00 x\nnonsense\nquit\nping\n")
        lines = read_all(peer).decode().splitlines()
    assert lines[:5] == ["pong", "ok", "= Paris", "ok", "none"], lines
    assert lines[5].startswith("! the key ") and lines[6].startswith("? ") and len(lines) == 7, lines


def talk_http(address, _):
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)) as client:
        def ask(method, path, body=None):
            client.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = client.getresponse()
            return answer.status, answer.read()

        assert ask("PUT", "/values/city", '{"value": "Paris"}') == (204, b"")
        status, body = ask("GET", "/values/city")
        assert (status, json.loads(body)) == (200, {"key": "city", "value": "Paris"})
        assert ask("DELETE", "/values/city") == (204, b"")
        assert ask("GET", "/values/city")[0] == 404
        assert ask("PUT", "/values/city", '{"value": 1}')[0] == 400
        assert ask("PUT", "/values/city", json.dumps({"value": "x" * 5000}))[0] == 413
        assert ask("GET", "/healthz") == (200, b"ok\n")


def talk_rpc(address, prefix):
    def call(method, request):
        words = [f"{prefix}/bin/peal-rpc", "call", "%s:%d" % address, f"rpc_starter_api.Values.{method}", request]
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE_SECONDS, check=True)
        return json.loads(done.stdout)

    assert call("Put", '{"key": "city", "value": "Paris"}') == {}
    assert call("Get", '{"key": "city"}') == {"found": True, "value": "Paris"}
    assert call("Remove", '{"key": "city"}') == {"found": True}
    assert call("Get", '{"key": "city"}') == {}
    assert "error" in call("Put", '{"key": "no blanks"}')


def send_garbage(address):
    for garbage in (b"\xff\x00" * 10000, b"\n\n\n", b"GET / HTTP/9.9\r\n\r\n"):
        with connect(address) as peer, contextlib.suppress(ConnectionError):
            peer.sendall(garbage)
            peer.shutdown(socket.SHUT_WR)
            read_all(peer)


def metric(inspector, name):
    """Returns a metric of the service's only server."""
    with contextlib.closing(http.client.HTTPConnection(*inspector, timeout=PATIENCE_SECONDS)) as client:
        client.request("GET", "/metrics")
        metrics = client.getresponse().read().decode()
    return int(re.search(rf"^{name}\{{.*\}} (\d+)$", metrics, re.MULTILINE)[1])


def check_health(program, inspector):
    """Runs the health check of the project's Dockerfile, as Docker does, against the inspector's port."""
    text = (pathlib.Path(program).parent.parent / "Dockerfile").read_text()
    command = re.search(r"^HEALTHCHECK .* CMD ((?:.*\\\n)*.*)$", text, re.MULTILINE)[1].replace("\\\n", "")
    assert "/9990 " in command
    subprocess.run(["/bin/sh", "-c", command.replace("/9990 ", f"/{inspector[1]} ")], check=True,
                   timeout=PATIENCE_SECONDS)


def open_too_many(address, inspector):
    """Opens twice as many connections as the service takes. It must close half of them, and count them. It closes a
    new connection itself if the loop of that connection has no idle one."""
    def closed():
        return sum(metric(inspector, f"peal_server_{why}_connections_total") for why in ("evicted", "refused"))

    with contextlib.ExitStack() as stack:
        for _ in range(2 * CONNECTIONS):
            stack.enter_context(connect(address))
        wait_until(lambda: closed() >= CONNECTIONS)
    wait_until(lambda: metric(inspector, "peal_server_connections") == 0)


def end(process, address, kind):
    """Ends the service by SIGTERM. A client that has sent half of a request gets its answer."""
    with connect(address) as peer:
        if kind in REQUESTS:
            before, after, answer = REQUESTS[kind]
            peer.sendall(before)
            answered = b""
            while not answered.endswith(b"ok\n"):
                answered += peer.recv(1)
        process.send_signal(signal.SIGTERM)
        while "draining " not in process.stderr.readline():
            pass
        if kind in REQUESTS:
            peer.sendall(after)
        data = read_all(peer)
        assert kind not in REQUESTS or data.startswith(answer), data
    assert process.wait(PATIENCE_SECONDS) == 0


def main(kind, prefix, program):
    talk = {"tcp": talk_tcp, "http": talk_http, "rpc": talk_rpc}[kind]
    words = [program, "--listen", "127.0.0.1:0", "--inspect", "127.0.0.1:0", "--threads", "2", "--max-connections",
             str(CONNECTIONS), "--drain", str(PATIENCE_SECONDS)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            ports = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+), inspected at http://127\.0\.0\.1:(\d+)/\n", line)
            address, inspector = (("127.0.0.1", int(port)) for port in ports.groups())
            talk(address, prefix)
            check_health(program, inspector)
            send_garbage(address)
            open_too_many(address, inspector)
            talk(address, prefix)
            end(process, address, kind)
        finally:
            process.kill()


if __name__ == "__main__":
    main(*sys.argv[1:])
