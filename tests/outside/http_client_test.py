# SPDX-License-Identifier: BSD-3-Clause
"""HttpClient, in the examples that use it, against Python's http.server and nginx."""
import contextlib
import http.client
import http.server
import json
import random
import signal
import socket
import threading
import urllib.error
import urllib.request

import pytest

from nginx_party import nginx
from programs import (PATIENCE_SECONDS, Program, QuietHandler, ask, connect, curl, http_server, joined, peak_kib,
                      read_exactly, read_head, status_by_curl)

LARGE = random.Random(2).randbytes(3_000_000)


class Scripted(QuietHandler):
    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        body = self.body()
        match self.path.split("/")[1:]:
            case ["large"]:
                self.answer(200, LARGE, X_Kind="large")
            case ["chunks"]:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for at in range(0, len(LARGE), 70_001):
                    piece = LARGE[at:at + 70_001]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")
            case ["close"]:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"until the end")
                self.close_connection = True
            case ["broken"]:
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"too little")
                self.close_connection = True
            case ["to", status]:
                self.answer(int(status), b"moved", Location="/echo")
            case ["slow"]:
                self.server.hurry.wait(PATIENCE_SECONDS)
                self.answer(200, b"at last")
            case ["upgrade"]:
                self.send_response(101)
                self.send_header("Upgrade", "shout")
                self.send_header("Connection", "upgrade")
                self.end_headers()
                while line := self.rfile.readline():
                    self.wfile.write(line.upper())
                self.close_connection = True
            case _:
                seen = {"method": self.command, "path": self.path, "fields": self.headers.items(), "size": len(body),
                        "right": body == LARGE, "body": body[:100].decode("latin-1")}
                self.answer(200, json.dumps(seen).encode(), Connection_Info="x", Keep_Alive="timeout=5")

    do_POST = do_PUT = do_HEAD = do_DELETE = do_OPTIONS = do_PATCH = do_GET


class Upstream(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Prints nothing: in these tests, clients end connections on purpose."""


@pytest.fixture(name="upstream")
def fixture_upstream():
    with http_server(Scripted, Upstream) as server:
        server.hurry = threading.Event()
        yield server
        server.hurry.set()


@contextlib.contextmanager
def serving_nginx(tmp_path):
    """Runs nginx, which serves files and redirects. Yields its address."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "large").write_bytes(LARGE)
    (root / "lines.txt").write_bytes(b"a line that packs well\n" * 10_000)
    place = tmp_path / "nginx.sock"
    with nginx(tmp_path, place, f"""root {root}; default_type text/plain;
          gzip on; gzip_proxied any; gzip_types text/plain;
          server {{ listen unix:{place};
            location /to/ {{ return 301 /lines.txt; }}
            location /none {{ return 204; }} }}"""):
        yield f"unix:{place}"


def fetch(*arguments, text=None):
    """Runs the example. Returns its exit code, its stdout and its stderr."""
    with Program("fetch", *arguments) as program:
        out, error = program.process.communicate(text, timeout=PATIENCE_SECONDS)
        return program.process.returncode, out, error.decode()


def url(server, path):
    return f"http://{joined(server.server_address)}{path}"


def seen_by(upstream, *arguments, path="/echo", text=None):
    code, out, errors = fetch(*arguments, url(upstream, path), text=text)
    assert (code, errors) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("path", ["/large", "/chunks"])
def test_a_large_answer_arrives_whole(upstream, path):
    assert fetch(url(upstream, path)) == (0, LARGE, "")


def test_an_answer_that_ends_with_the_connection_and_one_that_is_cut(upstream):
    assert fetch(url(upstream, "/close")) == (0, b"until the end", "")
    code, out, errors = fetch(url(upstream, "/broken"))
    assert (code, out) == (1, b"too little") and "closed before" in errors


def test_bodies_go_up_whole_and_in_chunks(upstream, tmp_path):
    assert seen_by(upstream, "-d", "a=b")["body"] == "a=b"
    (tmp_path / "large").write_bytes(LARGE)
    seen = seen_by(upstream, "-T", tmp_path / "large")
    assert seen["method"] == "PUT" and seen["right"]
    assert seen_by(upstream, "-T", "-", text=b"typed")["body"] == "typed"


def test_methods_fields_and_heads(upstream):
    seen = seen_by(upstream, "-X", "DELETE", "-H", "X-Own: 1")
    assert seen["method"] == "DELETE" and ["X-Own", "1"] in seen["fields"]
    code, out, _ = fetch("-i", "-X", "HEAD", url(upstream, "/large"))
    assert code == 0 and out.startswith(b"HTTP/1.1 200 OK\r\n") and out.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("status, method", [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_redirects(upstream, status, method):
    seen = seen_by(upstream, "-d", "a=b", path=f"/to/{status}")
    assert (seen["method"], seen["path"]) == (method, "/echo")
    assert fetch("-r", url(upstream, f"/to/{status}")) == (0, b"moved", "")


def test_what_goes_wrong_is_said_in_one_sentence(upstream):
    code, out, errors = fetch("-m", "0.05", url(upstream, "/slow"))
    assert (code, out) == (1, b"") and "not complete in time" in errors and errors.count("\n") == 1
    for bad, sentence in [("ftp://x/", "no absolute http or https URL"),
                          ("https://127.0.0.1:1/", "Connection refused"),
                          ("http://127.0.0.1:1/", "Connection refused")]:
        code, out, errors = fetch(bad)
        assert (code, out) == (1, b"") and sentence in errors, bad
    assert fetch()[0] == 2


class Proxied:
    def __init__(self, address):
        self.address = address

    def ask(self, method, path, body=None, headers={}, chunked=False):
        return ask(self.address, method, path, body, headers, encode_chunked=chunked)


@contextlib.contextmanager
def proxied(upstream):
    with Program("reverse_proxy", upstream, "127.0.0.1:0") as program:
        yield Proxied(program.address())
        assert program.end()[0] == 0


def test_a_proxy_passes_messages_on_and_says_so(upstream):
    with proxied(joined(upstream.server_address)) as proxy:
        for path in ["/large", "/chunks"]:
            assert proxy.ask("GET", path)[1] == LARGE
        answer, body = proxy.ask("POST", "/a%20b?c=d", b"text", {"Host": "example.org", "X-Own": "1",
                                 "Connection": "close, X-Secret", "X-Secret": "s", "Keep-Alive": "x", "TE": "trailers",
                                 "X-Forwarded-For": "192.0.2.7", "Proxy-Authorization": "p"})
        seen = json.loads(body)
        fields = {name.lower(): value for name, value in seen["fields"]}
        assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/a%20b?c=d", "text")
        assert fields["host"] == "example.org" and fields["x-own"] == "1"
        assert fields["x-forwarded-for"] == "192.0.2.7, 127.0.0.1" and fields["via"] == "1.1 peal"
        assert not {"x-secret", "keep-alive", "te", "proxy-authorization"} & set(fields)
        assert answer.getheader("Via") == "1.1 peal" and answer.getheader("Connection-Info") == "x"
        assert answer.getheader("Keep-Alive") is None
        assert len(answer.headers.get_all("Date")) == 1


def test_a_proxy_streams_bodies_up(upstream):
    with proxied(joined(upstream.server_address)) as proxy:
        for chunked, body in [(False, LARGE), (True, iter([LARGE[:1_000_000], LARGE[1_000_000:]]))]:
            fields = {"Transfer-Encoding": "chunked"} if chunked else {}
            assert json.loads(proxy.ask("PUT", "/echo", body, fields, chunked)[1])["right"]


def test_a_proxy_leaves_redirects_and_answers_without_a_body_alone(upstream):
    with proxied(joined(upstream.server_address)) as proxy:
        answer, body = proxy.ask("GET", "/to/302")
        assert (answer.status, answer.getheader("Location"), body) == (302, "/echo", b"moved")
        answer, body = proxy.ask("HEAD", "/large")
        assert (answer.getheader("Content-Length"), body) == (str(len(LARGE)), b"")


def test_a_proxy_holds_little_of_what_nobody_reads(upstream):
    with Program("reverse_proxy", joined(upstream.server_address), "127.0.0.1:0") as program:
        address = program.address()
        peers = [connect(address) for _ in range(20)]
        for peer in peers:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        for peer in peers:
            assert peer.recv(15, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK"
        assert peak_kib(program.process.pid) < 60_000, "the proxy must not hold the answers, which are 60 MB together"
        for peer in peers:
            peer.close()


def test_a_proxy_answers_for_an_upstream_that_does_not(upstream):
    with proxied("127.0.0.1:1") as proxy:
        assert proxy.ask("GET", "/")[0].status == 502
    with proxied(joined(upstream.server_address)) as proxy:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            proxy.ask("GET", "/broken")
        assert proxy.ask("GET", "/echo")[0].status == 200
    with socket.create_server(("127.0.0.1", 0)) as nonsense:
        with proxied(joined(nonsense.getsockname())) as proxy:
            asker = threading.Thread(target=lambda: answers.append(proxy.ask("GET", "/")[0].status))
            answers = []
            asker.start()
            peer, _ = nonsense.accept()
            with peer:
                peer.sendall(b"220 mail.example.org ESMTP\r\n\r\n")
                asker.join(PATIENCE_SECONDS)
            assert answers == [502]


def test_a_proxy_carries_another_protocol(upstream):
    with proxied(joined(upstream.server_address)) as proxy, connect(proxy.address) as peer:
        peer.sendall(b"GET /upgrade HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n")
        head = read_head(peer)
        assert head.startswith(b"HTTP/1.1 101 ") and b"\r\nUpgrade: shout\r\n" in head
        for word in [b"hello\n", b"once more\n"]:
            peer.sendall(word)
            assert read_exactly(peer, len(word)) == word.upper()
        peer.shutdown(socket.SHUT_WR)
        assert peer.recv(1) == b""


def test_a_proxy_in_front_of_nginx(tmp_path):
    with serving_nginx(tmp_path) as upstream, proxied(upstream) as proxy:
        assert proxy.ask("GET", "/large")[1] == LARGE
        answer, body = proxy.ask("GET", "/large", headers={"Range": "bytes=5-9"})
        assert (answer.status, body) == (206, LARGE[5:10])
        answer, body = proxy.ask("GET", "/lines.txt", headers={"Accept-Encoding": "gzip"})
        assert answer.getheader("Content-Encoding") == "gzip" and len(body) < 10_000
        assert proxy.ask("GET", "/none")[0].status == 204
        assert proxy.ask("GET", "/missing")[0].status == 404
        assert proxy.ask("GET", "/to/x")[0].getheader("Location").endswith("/lines.txt")
        etag = proxy.ask("HEAD", "/large")[0].getheader("ETag")
        assert proxy.ask("GET", "/large", headers={"If-None-Match": etag})[0].status == 304


def test_the_url_shortener_remembers_over_a_crash(upstream, tmp_path):
    file = tmp_path / "links"
    long_url = url(upstream, "/echo?a=b")
    with Program("url_shortener", "127.0.0.1:0", file) as service:
        base = f"http://{joined(service.address())}"
        short = curl("-d", long_url, f"{base}/links").decode().strip()
        assert short.startswith(base) and curl("-d", long_url, f"{base}/links").decode().strip() == short
        assert curl("-d", "http://example.org/", f"{base}/links").decode().strip() != short
        assert json.loads(curl("-L", short))["path"] == "/echo?a=b"
        assert json.loads(fetch(short)[1])["path"] == "/echo?a=b"
        assert status_by_curl("-d", "not a url", f"{base}/links") == 400
        assert status_by_curl("-d", "x" * 2049, f"{base}/links") == 413
        assert status_by_curl(f"{base}/zzz") == 404
        service.process.send_signal(signal.SIGKILL)
        service.process.wait(PATIENCE_SECONDS)
    with file.open("ab") as cut:
        cut.write(b"http://cut.in.the.mid")
    with Program("url_shortener", "127.0.0.1:0", file) as service:
        base = f"http://{joined(service.address())}"
        name = short.rpartition("/")[2]
        with pytest.raises(urllib.error.HTTPError) as answer:
            opener = urllib.request.build_opener(NoRedirects, urllib.request.ProxyHandler({}))
            opener.open(f"{base}/{name}", timeout=PATIENCE_SECONDS)
        answer.value.close()
        assert (answer.value.code, answer.value.headers["Location"]) == (302, long_url)
        assert json.loads(curl(f"{base}/links")) == {"links": 2}
        assert service.end()[0] == 0


def test_the_url_shortener_takes_no_more_links_than_it_is_told(tmp_path):
    with Program("url_shortener", "127.0.0.1:0", tmp_path / "links", 1) as service:
        base = f"http://{joined(service.address())}"
        short = curl("-d", "http://example.org/", f"{base}/links")
        assert status_by_curl("-d", "http://example.com/", f"{base}/links") == 507
        assert curl("-d", "http://example.org/", f"{base}/links") == short, "a link that exists already is not refused"
        assert (tmp_path / "links").read_text(encoding="ascii") == "http://example.org/\n"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
