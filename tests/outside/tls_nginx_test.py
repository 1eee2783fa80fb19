# SPDX-License-Identifier: BSD-3-Clause
"""nginx in front of the https site, which it verifies; the relay that ends TLS in front of nginx, and of Python's own
web server."""
import contextlib
import functools
import hashlib
import http.client
import http.server
import os
import socket
import ssl
import subprocess

import pytest

from peal_program import wait_until
from tls_parties import (LARGE, PAGE, PATIENCE_SECONDS, Program, http_server, https_site, joined, self_signed, tool)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def nginx(folder, port, server):
    """It listens on the port by the words of the server's block."""
    config = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # or its workers could not enter the folder
    config.write_text(f"""
        daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
        events {{ worker_connections 64; }}
        http {{
          access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; sendfile on;
          fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          {server}
        }}""", encoding="utf-8")
    command = [tool("nginx"), "-c", config, "-p", folder, "-e", folder / "error.log"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            def answers():
                assert process.poll() is None, (folder / "error.log").read_text(encoding="utf-8")
                with socket.socket() as probe:
                    return probe.connect_ex(("127.0.0.1", port)) == 0
            wait_until(answers, "nginx listens")
            yield folder / "error.log"
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def get(client, path):
    client.request("GET", path)
    answer = client.getresponse()
    return answer.status, answer.read()


def in_front(site, port, name):
    """An https upstream that is believed under the name, with connections and sessions kept."""
    return f"""
        upstream peal {{ server 127.0.0.1:{site.port}; keepalive 4; }}
        server {{
          listen 127.0.0.1:{port};
          location / {{
            proxy_pass https://peal; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
            proxy_ssl_verify on; proxy_ssl_trusted_certificate {site.certificate}; proxy_ssl_name {name};
            proxy_ssl_server_name on; proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_session_reuse on;
          }}
        }}"""


def test_in_front_of_the_site(tmp_path):
    port = free_port()
    with https_site(tmp_path) as site, nginx(tmp_path, port, in_front(site, port, "localhost")) as errors:
        for _ in range(20):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as client:
                assert get(client, "/page.html") == (200, PAGE)
                assert get(client, "/nowhere")[0] == 404
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as client:
            status, body = get(client, "/large.bin")
            assert (status, hashlib.sha256(body).digest()) == (200, hashlib.sha256(LARGE).digest())
        assert errors.read_text(encoding="utf-8") == ""


def test_in_front_of_a_site_of_another_name(tmp_path):
    port = free_port()
    with https_site(tmp_path) as site, nginx(tmp_path, port, in_front(site, port, "elsewhere.example")) as errors:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)) as client:
            assert get(client, "/page.html")[0] == 502
        assert "does not match" in errors.read_text(encoding="utf-8")


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "page.html").write_bytes(PAGE)
    (root / "large.bin").write_bytes(LARGE)
    return root


def through_the_relay(folder, upstream):
    """Pages and large files, all on one connection, five times."""
    certificate, key = self_signed(folder)
    context = ssl.create_default_context(cafile=certificate)
    with Program("tls_relay", upstream, certificate, key, "127.0.0.1:0") as relay:
        port = relay.address()[1]
        for _ in range(5):
            with contextlib.closing(http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_SECONDS,
                                                                context=context)) as client:
                assert get(client, "/page.html") == (200, PAGE)
                assert get(client, "/large.bin") == (200, LARGE)
        assert relay.end()[0] == 0


def test_behind_the_relay(root, tmp_path):
    port = free_port()
    with nginx(tmp_path, port, f"server {{ listen 127.0.0.1:{port}; root {root}; }}") as errors:
        through_the_relay(tmp_path, f"127.0.0.1:{port}")
        assert errors.read_text(encoding="utf-8") == ""


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def test_pythons_web_server_behind_the_relay(root, tmp_path):
    with http_server(functools.partial(Quiet, directory=root)) as server:
        through_the_relay(tmp_path, joined(server.server_address))
