# SPDX-License-Identifier: BSD-3-Clause
"""The command-line clients `fetch` and `download` against servers and a proxy written in Python."""
import contextlib
import gzip
import os
import random

import pytest

from programs import QuietHandler, http_server, joined, run_program

CONTENT = random.Random(5).randbytes(3_000_000)
PLAIN = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


@contextlib.contextmanager
def serving(handle):
    """Runs a server that calls `handle` for each GET. Yields its address and the list of requests that it got."""
    asked = []

    class Handler(QuietHandler):
        def do_GET(self):
            asked.append((self.path, self.headers))
            handle(self)

    with http_server(Handler) as server:
        yield joined(server.server_address), asked


def run(*arguments, **environment):
    return run_program(*arguments, env={**PLAIN, **environment})


def test_an_answer_that_is_compressed_is_printed_plain():
    def handle(handler):
        if "gzip" in handler.headers.get("Accept-Encoding", ""):
            handler.answer(200, gzip.compress(b"hello\n"), Content_Encoding="gzip")
        else:
            handler.answer(200, b"plain\n")

    with serving(handle) as (address, asked):
        assert run("fetch", f"http://{address}/") == (0, "plain\n", "")
        assert run("fetch", "--compressed", f"http://{address}/") == (0, "hello\n", "")
        assert len(asked) == 2


def test_a_server_that_is_busy_is_asked_again():
    def handle(handler):
        handler.answer(*((503, b"busy") if len(asked) < 3 else (200, b"ready")))

    with serving(handle) as (address, asked):
        assert run("fetch", f"http://{address}/") == (0, "busy", "")
        asked.clear()
        assert run("fetch", "--retry", "3", f"http://{address}/") == (0, "ready", "")
        assert len(asked) == 3


def test_cookies_are_kept_from_one_run_to_the_next(tmp_path):
    file = tmp_path / "cookies"
    with serving(lambda handler: handler.answer(200, Set_Cookie="id=7; Max-Age=1000")) as (address, asked):
        for _ in range(2):
            assert run("fetch", "--cookies", file, f"http://{address}/")[0] == 0
        assert [headers.get("Cookie") for _, headers in asked] == [None, "id=7"]
    assert "127.0.0.1\tFALSE\t/\tFALSE\t" in file.read_text()


@pytest.mark.parametrize("environment", [False, True])
def test_by_a_proxy(environment):
    with serving(lambda handler: handler.answer(200, b"by proxy")) as (address, asked):
        proxy = f"http://me:secret@{address}"
        if environment:
            done = run("fetch", "http://nowhere.test/x", http_proxy=proxy)
        else:
            done = run("fetch", "--proxy", proxy, "http://nowhere.test/x")
        assert done == (0, "by proxy", "")
        assert asked[0][0] == "http://nowhere.test/x"
        assert asked[0][1]["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"


def test_a_proxy_that_is_none_is_a_wrong_call():
    code, _, error = run("fetch", "--proxy", "socks5://me:secret@127.0.0.1:1080", "http://nowhere.test/")
    assert code == 2 and "secret" not in error
    code, _, error = run("fetch", "http://nowhere.test/", all_proxy="socks5://127.0.0.1:1080")
    assert code == 1 and "names no proxy" in error


def test_a_download_goes_on_where_it_broke_off(tmp_path):
    def handle(handler):
        first = 0
        if handler.headers.get("If-Range") == '"v1"':
            first = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        fields = {"ETag": '"v1"'}
        if first:
            fields["Content_Range"] = f"bytes {first}-{len(CONTENT) - 1}/{len(CONTENT)}"
        last = len(asked) == 4
        handler.answer(206 if first else 200, CONTENT[first:], None if last else 700_000, **fields)

    file = tmp_path / "file"
    with serving(handle) as (address, asked):
        code, _, error = run("download", f"http://{address}/", file)
        assert code == 1 and "closed before" in error
        assert not file.exists()
        code, out, error = run("download", "-s", "-r", "2", f"http://{address}/", file)
        assert code == 0, error
        assert out.startswith(f"{file}: {len(CONTENT)} bytes, ")
        assert len(asked) == 4
    assert file.read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]


def test_a_download_that_cannot_be(tmp_path):
    with serving(lambda handler: handler.answer(404, b"no")) as (address, asked):
        code, _, error = run("download", "-r", "5", f"http://{address}/", tmp_path / "file")
        assert code == 1 and "the server answers 404" in error
        assert len(asked) == 1
    assert run("download")[0] == 2
