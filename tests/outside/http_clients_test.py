# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve http` as the HTTP clients of other people see it: every way of driving it ends without one error."""
import contextlib
import http.client
import shutil
import socket
import subprocess
import time

import pytest

from peal_program import PATIENCE_SECONDS, PEAL, listening


@contextlib.contextmanager
def serving(*words):
    """Host and port of a server that lives until it is no longer needed."""
    with listening(PEAL, "serve", "http", *words) as (_, address):
        host, _, port = address.rpartition(":")
        yield host, int(port)


def run(*words):
    """What a tool printed, which must be there and succeed."""
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
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
            client.request("POST" if body else "GET", "/collect?v=1", body=body, encode_chunked=bool(body),
                           headers={"Transfer-Encoding": "chunked"} if body and not isinstance(body, bytes) else {})
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (200, b"Hello, World!")
            assert client.sock.getsockname() == own
        client.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_nginx_as_a_proxy_in_front(tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    with serving() as (host, port):
        front = free_port()
        config = tmp_path / "nginx.conf"
        config.write_text(f"""
            daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; worker_processes 1;
            events {{ worker_connections 64; }}
            http {{
              access_log off; client_body_temp_path {tmp_path}/body; proxy_temp_path {tmp_path}/proxy;
              fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
              upstream peal {{ server {host}:{port}; keepalive 4; }}
              server {{
                listen 127.0.0.1:{front};
                location / {{ proxy_pass http://peal; proxy_http_version 1.1; proxy_set_header Connection ""; }}
              }}
            }}""", encoding="utf-8")
        with subprocess.Popen(["nginx", "-c", config, "-p", tmp_path], stderr=subprocess.DEVNULL) as nginx:
            try:
                give_up = time.monotonic() + PATIENCE_SECONDS
                while socket.socket().connect_ex(("127.0.0.1", front)) != 0:
                    assert time.monotonic() < give_up and nginx.poll() is None, "nginx did not start"
                for body in [None, b"x" * 5000]:
                    for _ in range(20):
                        client = http.client.HTTPConnection("127.0.0.1", front, timeout=PATIENCE_SECONDS)
                        client.request("POST" if body else "GET", "/collect", body=body)
                        answer = client.getresponse()
                        assert (answer.status, answer.read()) == (200, b"Hello, World!")
                        client.close()
            finally:
                nginx.terminate()
                nginx.wait(PATIENCE_SECONDS)
