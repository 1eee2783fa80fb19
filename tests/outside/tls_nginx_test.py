# SPDX-License-Identifier: BSD-3-Clause
"""nginx as a proxy in front of the https site, and the relay that ends TLS in front of web servers.

nginx verifies the site's certificate. Behind the relay are nginx and Python's own web server.
"""
import contextlib
import functools
import hashlib
import http.client
import http.server
import ssl

import pytest

from nginx_party import nginx
from programs import PATIENCE_SECONDS, Program, QuietHandler, answered, ask, free_port, http_server, joined
from tls_parties import LARGE, PAGE, https_site, self_signed


def in_front(site, port, name):
    """Returns nginx's configuration for a proxy to the site. It expects `name` and keeps connections and sessions."""
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
                answer, body = answered(client, "GET", "/page.html")
                assert (answer.status, body) == (200, PAGE)
                assert answered(client, "GET", "/nowhere")[0].status == 404
        answer, body = ask(("127.0.0.1", port), "GET", "/large.bin")
        assert (answer.status, hashlib.sha256(body).digest()) == (200, hashlib.sha256(LARGE).digest())
        assert errors.read_text(encoding="utf-8") == ""


def test_in_front_of_a_site_of_another_name(tmp_path):
    port = free_port()
    with https_site(tmp_path) as site, nginx(tmp_path, port, in_front(site, port, "elsewhere.example")) as errors:
        assert ask(("127.0.0.1", port), "GET", "/page.html")[0].status == 502
        assert "does not match" in errors.read_text(encoding="utf-8")


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "page.html").write_bytes(PAGE)
    (root / "large.bin").write_bytes(LARGE)
    return root


def through_the_relay(folder, upstream):
    """Fetches a page and a large file on one connection through the relay. Repeats this five times."""
    certificate, key = self_signed(folder)
    context = ssl.create_default_context(cafile=certificate)
    with Program("tls_relay", upstream, certificate, key, "127.0.0.1:0") as relay:
        port = relay.address()[1]
        for _ in range(5):
            with contextlib.closing(http.client.HTTPSConnection("localhost", port, timeout=PATIENCE_SECONDS,
                                                                context=context)) as client:
                for path, content in (("/page.html", PAGE), ("/large.bin", LARGE)):
                    answer, body = answered(client, "GET", path)
                    assert (answer.status, body) == (200, content)
        assert relay.end()[0] == 0


def test_behind_the_relay(root, tmp_path):
    port = free_port()
    with nginx(tmp_path, port, f"server {{ listen 127.0.0.1:{port}; root {root}; }}") as errors:
        through_the_relay(tmp_path, f"127.0.0.1:{port}")
        assert errors.read_text(encoding="utf-8") == ""


class Files(QuietHandler, http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder."""


def test_pythons_web_server_behind_the_relay(root, tmp_path):
    with http_server(functools.partial(Files, directory=root)) as server:
        through_the_relay(tmp_path, joined(server.server_address))
