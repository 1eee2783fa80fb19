# SPDX-License-Identifier: BSD-3-Clause
"""The static site and the uploads, driven by curl and by clients that give up."""
import os
import random

import pytest

from programs import (Program, ask, connect, curl, joined, peak_kib, read_all, run_program, status_by_curl,
                      wait_until)

CONTENT = random.Random(3).randbytes(5_000_000)


def visible(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


def wait_for(address, done):
    """Waits until `done` returns true. Sends requests meanwhile, so that the server's loop turns."""
    wait_until(lambda: ask(address, "GET", "/files/none")[1] and done())


def test_a_site_of_files(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("home")
    (tmp_path / "404.html").write_text("lost")
    (tmp_path / "assets" / "app.js").write_text("js")
    with Program("static_site", tmp_path, "127.0.0.1:0") as site:
        url = "http://" + joined(site.address())
        assert curl(url + "/") == b"home"
        assert curl(url + "/none") == b"lost"
        assert b"Cache-Control: no-cache" in curl("-I", url + "/")
        assert b"immutable" in curl("-I", url + "/assets/app.js")
        assert status_by_curl(url + "/none") == 404


@pytest.mark.parametrize("mode", ["", "sync"])
def test_uploads_arrive_whole(tmp_path, mode):
    with Program("upload", tmp_path, "127.0.0.1:0", mode) as server:
        url = "http://" + joined(server.address()) + "/files/"
        assert status_by_curl("-T", "-", url + "a.bin", send=CONTENT) == 201, "chunked, its length is unknown"
        assert (tmp_path / "a.bin").read_bytes() == CONTENT
        assert status_by_curl("-X", "POST", "--data-binary", "@-", url + "a.bin", send=CONTENT[:1000]) == 204
        assert (tmp_path / "a.bin").read_bytes() == CONTENT[:1000]
        assert curl(url + "a.bin") == CONTENT[:1000]
        assert status_by_curl("-T", "-", url + "empty", send=b"") == 201
        assert sorted(os.listdir(tmp_path)) == ["a.bin", "empty"], "no temporary file may be left"


def test_names_that_are_none(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with Program("upload", folder, "127.0.0.1:0") as server:
        url = "http://" + joined(server.address())
        for path in ("/files/.hidden", "/files/..%2fx", "/files/%2e%2e", "/files/" + "x" * 201, "/files/../../x"):
            assert status_by_curl("--path-as-is", "-T", "-", url + path, send=b"x") in (400, 404, 405), path
        assert os.listdir(folder) == [] and os.listdir(tmp_path) == ["folder"]


def test_who_gives_up_leaves_nothing(tmp_path):
    with Program("upload", tmp_path, "127.0.0.1:0") as server:
        address = server.address()
        with connect(address) as peer:
            peer.sendall(b"PUT /files/a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + bytes(300_000))
            wait_for(address, lambda: any(name.startswith(".upload") for name in os.listdir(tmp_path)))
            assert visible(tmp_path) == []
        wait_for(address, lambda: os.listdir(tmp_path) == [])
        with connect(address) as peer:
            peer.sendall(b"PUT /files/b HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
            assert read_all(peer).startswith(b"HTTP/1.1 201 ")
        assert os.listdir(tmp_path) == ["b"]


def test_a_large_upload_costs_no_memory(tmp_path):
    with Program("upload", tmp_path, "127.0.0.1:0") as server:
        url = "http://" + joined(server.address()) + "/files/large"
        assert status_by_curl("-T", "-", url, send=CONTENT[:1000]) == 201
        before = peak_kib(server.process.pid)
        assert status_by_curl("-T", "-", url, send=CONTENT * 20) == 204
        assert os.stat(tmp_path / "large").st_size == 20 * len(CONTENT)
        assert peak_kib(server.process.pid) - before < 8 * 1024


def test_the_plain_port_beside_an_https_site(tmp_path):
    (tmp_path / "token").write_bytes(b"token.thumbprint")

    def place(address, path, *arguments):
        """Returns the status, and the URL to which the answer redirects."""
        shown = curl("http://" + joined(address) + path, "-o", os.devnull, "-w", "%{http_code} %{redirect_url}",
                     "-H", "Host: example.org:80", *arguments)
        return shown.decode()
    with Program("to_https", "127.0.0.1:0", "8443", tmp_path) as server:
        address = server.address()
        assert place(address, "/a?b=c") == "308 https://example.org:8443/a?b=c"
        assert place(address, "/form", "-d", "x=y") == "308 https://example.org:8443/form"
        assert place(address, "/.well-known/acme-challenge/token") == "200 "
        assert curl("http://" + joined(address) + "/.well-known/acme-challenge/token") == b"token.thumbprint"
        assert place(address, "/.well-known/acme-challenge/none") == "404 "
        assert server.end() == (0, "", "")
    with Program("to_https", "127.0.0.1:0") as server:
        assert place(server.address(), "/") == "308 https://example.org/"
    assert run_program("to_https", "127.0.0.1:0", "none") == (1, "", "the port none: Invalid argument\n")
