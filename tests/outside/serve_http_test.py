# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve http` as an operator sees it.

The tests check what it serves, with several threads and processes, what it writes into its log, how it reports a wrong
command line, and how it ends.
"""
import contextlib
import datetime
import email.utils
import http.client
import json
import random
import re
import signal

import pytest

from peal_program import PATIENCE_SECONDS, PEAL, listening, peal
from programs import ask, connect, joined, parted, read_all, read_head

PAGE = b"<!doctype html><title>a page</title>\n"
LARGE = random.Random(4).randbytes(8_000_000)

every_kind = pytest.mark.parametrize("kind", ["--threads 1", "--threads 3", "--workers 2", "--workers 2 --threads 2"])


class Served:
    def __init__(self, process, address):
        self.process = process
        self.place = parted(address)

    def client(self):
        return contextlib.closing(http.client.HTTPConnection(*self.place, timeout=PATIENCE_SECONDS))

    def ask(self, method, path, body=None, **fields):
        """Sends one request on a connection of its own. Returns the answer and its body."""
        return ask(self.place, method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})

    def raw(self, request):
        """Sends the bytes of a request, and returns all bytes up to the end of the connection."""
        with connect(self.place) as peer:
            peer.sendall(request)
            return read_all(peer)

    def end(self):
        """Ends the server by SIGTERM. Returns what it printed about that."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0
        return out


@contextlib.contextmanager
def served(*words):
    with listening(PEAL, "serve", "http", *words) as found:
        yield Served(*found)


@pytest.fixture(name="root")
def fixture_root(tmp_path):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "page.html").write_bytes(PAGE)
    (root / "large.bin").write_bytes(LARGE)
    (root / "sub" / "index.html").write_bytes(b"sub")
    (tmp_path / "secret").write_bytes(b"secret")
    return root


@every_kind
def test_files_of_a_folder(root, kind):
    with served("--root", root, *kind.split()) as server:
        answer, body = server.ask("GET", "/page.html")
        assert (answer.status, body) == (200, PAGE)
        assert answer.getheader("Content-Type").startswith("text/html")
        assert answer.getheader("Content-Length") == str(len(PAGE))
        tag, changed = answer.getheader("ETag"), answer.getheader("Last-Modified")
        assert email.utils.parsedate_to_datetime(changed).timestamp() == int((root / "page.html").stat().st_mtime)

        head, body = server.ask("HEAD", "/page.html")
        assert (head.status, body) == (200, b"")
        assert [field for field in head.getheaders() if field[0] != "Date"] == \
               [field for field in answer.getheaders() if field[0] != "Date"]

        for fields in ({"If_None_Match": tag}, {"If_Modified_Since": changed}):
            answer, body = server.ask("GET", "/page.html", **fields)
            assert (answer.status, body, answer.getheader("ETag")) == (304, b"", tag)
        assert server.ask("GET", "/page.html", If_None_Match='"another"')[0].status == 200
        assert server.ask("GET", "/page.html", If_Match='"another"')[0].status == 412

        answer, body = server.ask("GET", "/page.html", Range="bytes=2-8")
        assert (answer.status, body) == (206, PAGE[2:9])
        assert answer.getheader("Content-Range") == f"bytes 2-8/{len(PAGE)}"
        answer, _ = server.ask("GET", "/page.html", Range="bytes=9999-")
        assert (answer.status, answer.getheader("Content-Range")) == (416, f"bytes */{len(PAGE)}")
        assert server.ask("GET", "/large.bin")[1] == LARGE

        assert server.ask("GET", "/sub/")[1] == b"sub"
        assert server.ask("GET", "/none")[0].status == 404
        answer, _ = server.ask("DELETE", "/page.html")
        assert (answer.status, answer.getheader("Allow")) == (405, "GET, HEAD, OPTIONS")
        assert (root / "page.html").exists()


def test_files_say_how_long_they_may_be_kept(root):
    with served("--root", root, "--cache-control", "public , max-age=3600,immutable") as server:
        assert server.ask("GET", "/page.html")[0].getheader("Cache-Control") == "public , max-age=3600,immutable"
    with served("--root", root) as server:
        assert server.ask("GET", "/page.html")[0].getheader("Cache-Control") is None


@pytest.mark.parametrize("path", [
    "/../secret", "/sub/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/sub/..%5c..%5csecret", "//../secret",
    "/%2e%2e%2fsecret", "/.%2e/secret", "http://h/../secret"])
def test_what_lies_beside_the_folder_is_not_served(root, path):
    with served("--root", root) as server:
        answer = server.raw(f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        assert answer[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 404 "), answer
        assert b"secret" not in answer.partition(b"\r\n\r\n")[2]


@every_kind
def test_the_endpoint_of_the_measurements(kind):
    with served(*kind.split()) as server:
        for _ in range(8):  # repeated, so that several threads or processes have their turn
            for method, body in [("GET", None), ("POST", b""), ("POST", b"v=2&w=3"), ("POST", iter([b"v=", b"2"]))]:
                answer, text = server.ask(method, "/collect?v=1", body)
                assert (answer.status, text) == (200, b"Hello, World!"), method
                assert answer.getheader("Content-Type") == "text/plain"
        answer, text = server.ask("HEAD", "/collect?v=1")
        assert (answer.status, text, answer.getheader("Content-Length")) == (200, b"", "13")
        answer, _ = server.ask("PUT", "/collect?v=1", b"x")
        assert (answer.status, answer.getheader("Allow")) == (405, "GET, HEAD, OPTIONS, POST")
        assert server.ask("GET", "/")[0].status == 200


# Before, a served folder had the endpoint of the measurements in it, which hid the file of that name.
def test_a_folder_has_no_endpoint_in_it(root):
    with served("--root", root) as server:
        assert server.ask("GET", "/collect")[0].status == 404
        assert server.ask("POST", "/collect", b"v=1")[0].status == 405
        (root / "collect").write_bytes(b"a file of that name")
        assert server.ask("GET", "/collect")[1] == b"a file of that name"


@every_kind
def test_the_access_log_has_a_line_for_each_request(tmp_path, kind):
    log = tmp_path / "access.log"
    log.write_text("what was there before\n")
    with served("--access-log", log, *kind.split()) as server:
        asked = [f"/collect?number={number}" for number in range(20)]
        for path in asked:
            assert server.ask("GET", path, Referer="http://r/", User_Agent='a "quoted" one')[0].status == 200
        assert server.ask("POST", "/collect", b"abc")[0].status == 200
        assert server.ask("GET", "/none")[0].status == 404
        server.end()
    before, *lines = log.read_text().splitlines()
    assert before == "what was there before"
    shape = re.compile(r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "(\S+) (\S+) HTTP/1\.1" '
                       r'(\d{3}) (\d+) "(.*?)" "(.*)"')
    seen = [shape.fullmatch(line) for line in lines]
    assert all(seen), lines
    assert sorted(each[2] for each in seen) == sorted([*asked, "/collect", "/none"])
    kinds = {each[2]: each.groups() for each in seen}
    assert kinds["/collect?number=3"][2:5] == ("200", "13", "http://r/")
    assert kinds["/collect"][0] == "POST" and kinds["/none"][2] == "404"
    assert '"quoted"' not in kinds["/collect?number=3"][5], "a client's quotation mark must not end the value"


@every_kind
def test_the_access_log_as_json_has_an_object_for_each_request(tmp_path, kind):
    log = tmp_path / "access.log"
    with served("--access-log", log, "--access-log-format", "json", "--request-ids", *kind.split()) as server:
        ids = [server.ask("GET", f"/collect?{number}", User_Agent='a "quoted\\" one')[0].getheader("X-Request-Id")
               for number in range(5)]
        assert server.ask("GET", "/none")[0].status == 404
        hostile = b'GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: \xff\xc3"}\\\xe2\x80\xae\r\nConnection: close\r\n\r\n'
        assert server.raw(hostile).startswith(b"HTTP/1.1 404 ")
        server.end()
    lines = {each["target"]: each for each in map(json.loads, log.read_text(encoding="utf-8").splitlines())}
    assert [lines[f"/collect?{number}"]["request_id"] for number in range(5)] == ids
    one = lines["/collect?3"]
    assert (one["client"], one["method"], one["status"], one["bytes"]) == ("127.0.0.1", "GET", 200, 13)
    assert one["user_agent"] == 'a "quoted\\" one' and "referer" not in one
    assert datetime.datetime.fromisoformat(one["time"]).utcoffset() == datetime.timedelta(0)
    assert lines["/none"]["status"] == 404
    assert lines["/x"]["user_agent"] == '\ufffd\ufffd"}\\\u202e'


def call(*words):
    """Runs `peal serve http` to its end. Returns the exit code and the sentence on stderr."""
    done = peal("serve", "http", *words)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("peal: "), done.stderr
    return done.returncode, done.stderr


@every_kind
def test_a_taken_port_is_said_in_one_sentence(kind):
    with served() as server:
        place = joined(server.place)
        code, sentence = call("--listen", place, *kind.split())
        assert code == 1 and f"{place} is taken: another program listens there" in sentence
        assert server.ask("GET", "/")[0].status == 200


@pytest.mark.parametrize("kind", ["--threads 2", "--workers 2"])
@pytest.mark.parametrize("words, sentence", [
    ("--cache-control no-cache", "--cache-control is only for files: give --root too"),
    ("--root {} --cache-control max-aeg=60", "--cache-control takes directives such as no-cache or "),
    ("--root {} --cache-control max-age", "not 'max-age'"),
    ("--root {} --cache-control 3600", "not '3600'"),
    ("--root {} --cache-control no-cache,", "not ''"),
    ("--root {} --cache-control max-age=1s", "not 'max-age=1s'"),
    ("--access-log-format json", "--access-log-format json needs a log: give --access-log too"),
    ("--access-log {}/log --access-log-format xml", "--access-log-format"),
    ("--head-timeout soon", "--head-timeout takes a time such as 15s, not 'soon'"),
    ("--idle-timeout never", "--idle-timeout takes off or a time such as 60s, not 'never'"),
    ("--body-limit -1", "--body-limit"),
    ("--body-limit much", "--body-limit"),
    ("--max-connections -1", "--max-connections"),
    ("--max-per-address -1", "--max-per-address"),
    ("--requests-per-connection -1", "--requests-per-connection"),
    ("--style coroutines", "--style"),
    ("--listen nowhere", "'nowhere': the port is missing: write HOST:PORT"),
    ("--listen localhost:8080", "'localhost:8080': a name and not an address"),
    ("--listen 127.0.0.1:99999", "'127.0.0.1:99999': the port is no number from 0 to 65535"),
    ("--no-such-option", "--no-such-option"),
])
def test_a_wrong_call_is_said_in_one_sentence(tmp_path, kind, words, sentence):
    listen = [] if "--listen" in words else ["--listen", "127.0.0.1:0"]
    code, said = call(*listen, *words.format(tmp_path).split(), *kind.split())
    assert code == 2 and sentence.format(tmp_path) in said


@pytest.mark.parametrize("kind", ["--threads 2", "--workers 2"])
@pytest.mark.parametrize("words, sentence", [
    ("--root {}/nowhere", "--root {}/nowhere: No such file or directory"),
    ("--root {}/file", "--root {}/file: Not a directory"),
    ("--access-log {}/nowhere/log", "--access-log {}/nowhere/log: No such file or directory"),
])
def test_a_file_that_cannot_be_used_is_said_in_one_sentence(tmp_path, kind, words, sentence):
    (tmp_path / "file").touch()
    code, said = call("--listen", "127.0.0.1:0", *words.format(tmp_path).split(), *kind.split())
    assert code == 1 and sentence.format(tmp_path) in said


def test_sigterm_lets_requests_under_way_end(root):
    with served("--root", root, "--drain", "60s") as server, contextlib.ExitStack() as stack:
        idle, download = (stack.enter_context(connect(server.place)) for _ in range(2))
        idle.sendall(b"HEAD /page.html HTTP/1.1\r\nHost: h\r\n\r\n")
        assert read_head(idle).startswith(b"HTTP/1.1 200 ")
        download.sendall(b"GET /large.bin HTTP/1.1\r\nHost: h\r\n\r\n")
        assert read_head(download).startswith(b"HTTP/1.1 200 ")
        server.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b"", "an idle connection is closed at once"
        idle.close()
        with pytest.raises(ConnectionRefusedError):
            connect(server.place)
        assert read_all(download) == LARGE
        download.close()
        out, err = server.process.communicate(timeout=PATIENCE_SECONDS)
        assert (server.process.returncode, err) == (0, "")
        assert re.fullmatch(r"drained: \d finished, 0 cut off, 0 bytes lost here, 0 in the kernel\n", out)


def test_sigterm_lets_an_upload_end():
    with served("--drain", "60s") as server:
        with connect(server.place) as upload:
            upload.sendall(b"POST /collect HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc")
            assert server.ask("GET", "/")[0].status == 200, "the upload, which came first, has been read by now"
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionRefusedError):
                while True:
                    # the connection waited in the backlog of the closed listener
                    with contextlib.suppress(ConnectionResetError):
                        connect(server.place).close()
            upload.sendall(b"def")
            answer = read_all(upload)
            assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\nHello, World!")
        assert server.process.wait(PATIENCE_SECONDS) == 0


@every_kind
def test_sigterm_ends_it_whoever_serves(kind):
    with served("--drain", "60s", *kind.split()) as server:
        with server.client() as client:
            client.request("GET", "/")
            assert client.getresponse().read() == b"Hello, World!"
            server.process.terminate()
            assert client.sock.recv(1) == b""
        assert server.process.wait(PATIENCE_SECONDS) == 0
        with pytest.raises(ConnectionRefusedError):
            connect(server.place)
