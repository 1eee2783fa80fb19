# SPDX-License-Identifier: BSD-3-Clause
"""Other people's HTTP clients drive `peal serve http` in different ways. None of them may report an error."""
import contextlib
import http.client
import subprocess

import pytest

from nginx_party import nginx
from peal_program import PEAL, listening
from programs import PATIENCE_SECONDS, answered, ask, free_port, parted, tool


@contextlib.contextmanager
def serving(*words):
    """Runs a server as long as the block. Yields its host and port."""
    with listening(PEAL, "serve", "http", *words) as (_, address):
        yield parted(address)


def run(*words):
    """Runs a tool, which must be installed and must succeed. Returns what it printed."""
    done = subprocess.run([tool(words[0]), *words[1:]], capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_curl_of_every_kind():
    with serving("--body-limit", "1000") as (host, port):
        url = f"http://{host}:{port}/"
        assert run("curl", "-sS", url, f"{url}collect?v=1") == "Hello, World!" * 2
        assert run("curl", "-sS", "--http1.0", url) == "Hello, World!"
        assert "Content-Length: 13" in run("curl", "-sSI", url)
        assert "Allow: GET, HEAD, OPTIONS" in run("curl", "-sSi", "-X", "OPTIONS", url)
        assert run("curl", "-sS", "-d", "x" * 500, f"{url}collect") == "Hello, World!"
        status = ["-o", "/dev/null", "-w", "%{http_code}"]
        assert run("curl", "-sS", *status, "-H", "Expect: 100-continue", "-d", "x" * 500, f"{url}collect") == "200"
        assert run("curl", "-sS", *status, "-H", "Transfer-Encoding: chunked", "-d", "abc", f"{url}collect") == "200"
        assert run("curl", "-sS", *status, "-d", "x" * 1001, f"{url}collect") == "413"
        assert run("curl", "-sS", *status, f"{url}nowhere") == "404"
        assert run("curl", "-sS", *status, "-X", "DELETE", url) == "405"


def test_wrk():
    with serving("--threads", "2") as (host, port):
        out = run("wrk", "-c", "50", "-t", "2", "-d", "1s", f"http://{host}:{port}/")
        assert "requests in" in out and "Socket errors" not in out and "Non-2xx" not in out


@pytest.mark.parametrize("kept", [[], ["-k"]])
def test_ab(kept):
    with serving() as (host, port):
        out = run("ab", "-q", "-n", "500", "-c", "20", *kept, f"http://{host}:{port}/")
        assert "Complete requests:      500" in out and "Failed requests:        0" in out
        assert ("Keep-Alive requests:    500" in out) == bool(kept)


def test_h2load_over_http_1():
    with serving() as (host, port):
        out = run("h2load", "--h1", "-n", "1000", "-c", "10", "-m", "8", f"http://{host}:{port}/")
        assert "1000 succeeded, 0 failed, 0 errored" in out


def test_http_client_of_python_keeps_its_connection():
    with serving() as (host, port):
        client = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
        client.connect()
        own = client.sock.getsockname()
        for body in [None, b"some", iter([b"chunk", b"ed"]), None]:
            fields = {"Transfer-Encoding": "chunked"} if body and not isinstance(body, bytes) else {}
            answer, text = answered(client, "POST" if body else "GET", "/collect?v=1", body, fields,
                                    encode_chunked=bool(body))
            assert (answer.status, text) == (200, b"Hello, World!")
            assert client.sock.getsockname() == own
        client.close()


def test_nginx_as_a_proxy_in_front(tmp_path):
    front = free_port()
    with serving() as (host, port), nginx(tmp_path, front, f"""
              upstream peal {{ server {host}:{port}; keepalive 4; }}
              server {{
                listen 127.0.0.1:{front};
                location / {{ proxy_pass http://peal; proxy_http_version 1.1; proxy_set_header Connection ""; }}
              }}"""):
        for body in [None, b"x" * 5000]:
            for _ in range(20):
                answer, text = ask(("127.0.0.1", front), "POST" if body else "GET", "/collect", body)
                assert (answer.status, text) == (200, b"Hello, World!")
