# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve http --root` driven by curl and Python."""
import contextlib
import email.parser
import email.policy
import gzip
import hashlib
import http.client
import os
import random
import socket

import pytest

from peal_program import PEAL, listening
from programs import PATIENCE_SECONDS, answered, curl, parted, peak_kib, run_tool, status_by_curl

TEXT = b"".join(b"line %d of a text that packs well\n" % at for at in range(5000))
NOISE = random.Random(1).randbytes(300_000)


class Site:
    def __init__(self, process, address):
        self.process, self.address = process, address

    def url(self, path):
        return f"http://{self.address}{path}"

    def status(self, path, *arguments):
        return status_by_curl(*arguments, self.url(path))


@contextlib.contextmanager
def served(root):
    with listening(PEAL, "serve", "http", "--root", root) as found:
        yield Site(*found)


@pytest.fixture(name="site")
def fixture_site(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "page.html").write_bytes(TEXT)
    (root / "noise.bin").write_bytes(NOISE)
    (root / "sub").mkdir()
    (root / "sub" / "index.html").write_text("sub")
    (root / "up").symlink_to("../secret")
    with served(root) as site:
        site.root = root
        yield site


def test_curl_fetches_ranges(site):
    assert curl("-r", "0-99", site.url("/noise.bin")) == NOISE[:100]
    assert curl("-r", "-500", site.url("/noise.bin")) == NOISE[-500:]
    assert curl("-r", "299000-", site.url("/noise.bin")) == NOISE[299000:]
    assert site.status("/noise.bin", "-r", "300000-") == 416


def test_python_reads_several_ranges(site):
    connection = http.client.HTTPConnection(site.address, timeout=PATIENCE_SECONDS)
    answer, body = answered(connection, "GET", "/noise.bin", None, {"Range": "bytes=0-99,1000-200999,-1"})
    assert answer.status == 206
    head = f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    parts = [(part["Content-Range"], part.get_payload(decode=True)) for part in message.iter_parts()]
    assert [place for place, _ in parts] == ["bytes 0-99/300000", "bytes 1000-200999/300000",
                                             "bytes 299999-299999/300000"]
    assert len(parts[0][1]) == 100 and len(parts[2][1]) == 1
    assert answered(connection, "GET", "/noise.bin")[1] == NOISE, "the connection can be used for another request"
    connection.close()


def test_curl_resumes_a_download(site, tmp_path):
    part = tmp_path / "part"
    part.write_bytes(NOISE[:123_456])
    curl("-C", "-", "-o", part, site.url("/noise.bin"))
    assert part.read_bytes() == NOISE


def test_curl_asks_only_for_what_is_new(site, tmp_path):
    copy, tag = tmp_path / "copy", tmp_path / "tag"
    curl("--etag-save", tag, "-o", copy, site.url("/page.html"))
    assert site.status("/page.html", "--etag-compare", tag) == 304
    curl("-R", "-o", copy, site.url("/page.html"))
    assert site.status("/page.html", "-z", copy) == 304
    os.utime(site.root / "page.html", (0, os.stat(copy).st_mtime + 10))
    assert site.status("/page.html", "--etag-compare", tag) == 200


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_curl_unpacks_what_was_packed_before(site, coding):
    page = site.root / "page.html"
    if coding == "gzip":
        page.with_name("page.html.gz").write_bytes(gzip.compress(TEXT))
    else:
        run_tool("zstd", "-q", page)
    head = curl("-I", "-H", f"Accept-Encoding: {coding}", site.url("/page.html")).decode().lower()
    assert f"content-encoding: {coding}" in head and "vary: accept-encoding" in head
    sizes = curl("--compressed", "-H", f"Accept-Encoding: {coding}", "-o", os.devnull, "-w", "%{size_download}",
                      site.url("/page.html"))
    assert int(sizes) < len(TEXT) / 3
    assert curl("--compressed", "-H", f"Accept-Encoding: {coding}", site.url("/page.html")) == TEXT
    assert curl(site.url("/page.html")) == TEXT


def test_head_says_what_get_says(site):
    connection = http.client.HTTPConnection(site.address, timeout=PATIENCE_SECONDS)
    heads = []
    for method in ("GET", "HEAD"):
        answer, body = answered(connection, method, "/page.html")
        assert body == (TEXT if method == "GET" else b"")
        heads.append([field for field in answer.getheaders() if field[0] != "Date"])
    assert heads[0] == heads[1]
    connection.close()


def test_curl_does_not_get_out(site):
    for path in ("/../secret", "/sub/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/up", "//secret",
                 "/.%00./secret", "/%2e%2e%2f%2e%2e%2fetc/passwd", "/../../../../etc/passwd"):
        assert site.status(path, "--path-as-is") in (400, 404), path
    assert curl("-L", site.url("/sub")) == b"sub", "a folder redirects to itself with a slash"


def test_a_slow_reader_of_64_mib_costs_no_memory(site):
    content = random.Random(2).randbytes(1024 * 1024)
    with open(site.root / "large.bin", "wb") as file:
        for _ in range(64):
            file.write(content)
    curl("-o", os.devnull, site.url("/page.html"))
    before = peak_kib(site.process.pid)
    with contextlib.ExitStack() as stack:
        readers = []
        for _ in range(8):
            peer = stack.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
            peer.settimeout(PATIENCE_SECONDS)
            peer.connect(parted(site.address))
            peer.sendall(b"GET /large.bin HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            readers.append(peer)
        # One client reads to the end, in pieces smaller than its buffer. The others read nothing.
        data = b""
        while b"\r\n\r\n" not in data:
            data += readers[0].recv(1024)
        body = data.split(b"\r\n\r\n", 1)[1]
        digest, got = hashlib.sha256(), 0
        while body:
            digest.update(body)
            got += len(body)
            body = readers[0].recv(8192)
        assert peak_kib(site.process.pid) - before < 8 * 1024
    assert got == 64 * len(content)
    assert digest.digest() == hashlib.sha256(content * 64).digest()
