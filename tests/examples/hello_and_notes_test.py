# SPDX-License-Identifier: BSD-3-Clause
"""The smallest web server and the JSON API: every request that they answer, and some that they refuse."""
import contextlib
import http.client
import json

import pytest

from programs import PATIENCE_SECONDS, Program, answered, connect, joined, read_all, run_program


AS_JSON = {"Content-Type": "application/json"}


class Service:
    """An example that speaks HTTP. All requests use one connection."""

    def __init__(self, program):
        self.address = program.address()
        self._client = http.client.HTTPConnection(*self.address, timeout=PATIENCE_SECONDS)

    def close(self):
        self._client.close()

    def ask(self, method, path, body=None, **fields):
        return answered(self._client, method, path, body, fields)

    def ask_json(self, method, path, body=None):
        """Returns the status and the parsed body of the answer, or None for the body if there is none."""
        answer, text = self.ask(method, path, body, **AS_JSON)
        if not text:
            return answer.status, None
        assert answer.getheader("Content-Type") == "application/json" and text.endswith(b"\n")
        return answer.status, json.loads(text)


@contextlib.contextmanager
def running(name, *arguments):
    with Program(name, "127.0.0.1:0", *arguments) as program:
        with contextlib.closing(Service(program)) as service:
            yield service
        code, _, errors = program.end()
        assert (code, errors) == (0, "")


def test_hello():
    with running("hello") as service:
        answer, body = service.ask("GET", "/")
        assert (answer.status, answer.reason, body) == (200, "OK", b"Hello, world!")
        assert answer.getheader("Content-Type") == "text/plain" and answer.getheader("Date")
        answer, body = service.ask("HEAD", "/?a=b")
        assert (answer.status, answer.getheader("Content-Length"), body) == (200, "13", b"")
        answer, body = service.ask("OPTIONS", "/")
        assert (answer.status, answer.getheader("Allow"), body) == (204, "GET, HEAD, OPTIONS", b"")
        for method in ("POST", "PUT", "DELETE", "PATCH", "BREW"):
            answer, _ = service.ask(method, "/", b"x")
            assert (answer.status, answer.getheader("Allow")) == (405, "GET, HEAD, OPTIONS"), method
        for path in ("/hello", "//x", "/index.html"):
            assert service.ask("GET", path)[0].status == 404, path


def test_hello_of_a_coroutine():
    with running("hello_coroutine") as service:
        assert service.ask("GET", "/hello")[1] == b"Hello, world!\n"
        assert service.ask("GET", "/hello?name=Ada%20L.")[1] == b"Hello, Ada L.!\n"
        assert service.ask("GET", "/")[0].status == 404


def test_hello_to_who_speaks_http_badly():
    with running("hello") as service, connect(service.address) as peer:
        peer.sendall(b"HELO there\r\n\r\n")
        assert read_all(peer).startswith(b"HTTP/1.1 400 ")
        assert service.ask("GET", "/")[1] == b"Hello, world!"


@pytest.mark.parametrize("name", ["hello", "hello_coroutine", "json_api"])
def test_an_address_that_cannot_be_had(name):
    with Program(name, "127.0.0.1:0") as first:
        taken = joined(first.address())
        for address, words in [(taken, "Address already in use"), ("nowhere", "")]:
            code, printed, errors = run_program(name, address)
            assert (code, printed) == (1, "") and errors.count("\n") == 1 and words in errors


def test_notes_are_added_read_and_deleted():
    with running("json_api") as service:
        assert service.ask_json("GET", "/notes") == (200, [])
        texts = ["buy bread", "", 'quotes " and \\ and \n', "Grüße, 日本 \U0001f35e"]
        for number, text in enumerate(texts, 1):
            answer, body = service.ask("POST", "/notes", json.dumps({"text": text, "more": [1]}), **AS_JSON)
            assert (answer.status, answer.getheader("Location")) == (201, f"/notes/{number}")
            assert json.loads(body) == {"id": number}
        notes = [{"id": number, "text": text} for number, text in enumerate(texts, 1)]
        assert service.ask_json("GET", "/notes") == (200, notes)
        for note in notes:
            assert service.ask_json("GET", f"/notes/{note['id']}") == (200, note)
        answer, body = service.ask("HEAD", "/notes/1")
        assert (answer.status, body) == (200, b"") and int(answer.getheader("Content-Length")) > 0
        assert service.ask_json("DELETE", "/notes/2") == (204, None)
        assert service.ask_json("GET", "/notes") == (200, [notes[0], *notes[2:]])
        assert service.ask_json("POST", "/notes", '{"text":"new"}') == (201, {"id": 5}), "an id must not be used again"


def test_notes_that_are_not_there():
    with running("json_api") as service:
        service.ask_json("POST", "/notes", '{"text":"the only one"}')
        service.ask("DELETE", "/notes/1")
        for path in ("1", "2", "0", "-1", "+1", "1x", "x", "0x1", "1.0", "%31", "18446744073709551616", "9" * 100):
            for method in ("GET", "DELETE"):
                assert service.ask_json(method, f"/notes/{path}") == (404, {"error": "no such note"}), (method, path)
        for path in ("/", "/note", "/notes/1/text"):
            assert service.ask("GET", path)[0].status == 404, path


@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"{}", b'{"text":1}', b'{"text":null}', b'{"Text":"x"}'])
def test_what_is_no_note(body):
    with running("json_api") as service:
        assert service.ask_json("POST", "/notes", body) == (400, {"error": 'wanted: {"text": "..."}'})
        assert service.ask_json("GET", "/notes") == (200, [])


@pytest.mark.parametrize("body, place", [
    (b"", "line 1, column 1:"), (b"{", "line 1, column 2:"), (b'{"text":\n tru}', "line 2, column 5:"),
    (b'{"text":"x"} more', "line 1, column 14:"), (b'{"text":"\xff\xfe"}', "line 1, column 10:"),
    (b"\x00", "line 1, column 1:"), (b"[" * 4000, "too deep")])
def test_what_is_no_json(body, place):
    with running("json_api") as service:
        status, answer = service.ask_json("POST", "/notes", body)
        assert status == 400 and place in answer["error"]
        assert service.ask_json("GET", "/notes") == (200, [])


@pytest.mark.parametrize("fields", [{}, {"Content-Type": "text/plain"},
                                    {"Content-Type": "application/x-www-form-urlencoded"}])
def test_a_body_that_does_not_say_that_it_is_json(fields):
    with running("json_api") as service:
        assert service.ask("POST", "/notes", b'{"text":"x"}', **fields)[0].status == 415
        assert service.ask_json("GET", "/notes") == (200, [])


def test_a_note_that_is_too_long():
    with running("json_api") as service:
        longest = json.dumps({"text": "x" * (4096 - len('{"text": ""}'))})
        assert service.ask_json("POST", "/notes", longest) == (201, {"id": 1})
        assert service.ask("POST", "/notes", longest + " ", **AS_JSON)[0].status == 413
        assert service.ask_json("GET", "/notes/1")[1]["text"] == json.loads(longest)["text"]
        assert len(service.ask_json("GET", "/notes")[1]) == 1


def test_no_more_notes_than_there_is_room_for():
    with running("json_api", 2) as service:
        for _ in range(2):
            assert service.ask_json("POST", "/notes", '{"text":"x"}')[0] == 201
        assert service.ask_json("POST", "/notes", '{"text":"x"}') == (507, {"error": "no more notes: delete one"})
        service.ask("DELETE", "/notes/1")
        assert service.ask_json("POST", "/notes", '{"text":"x"}') == (201, {"id": 3})


def test_methods_that_notes_do_not_have():
    with running("json_api") as service:
        service.ask_json("POST", "/notes", '{"text":"stays"}')
        for path, methods, allowed in [("/notes", ("PUT", "DELETE", "PATCH"), "GET, HEAD, OPTIONS, POST"),
                                       ("/notes/1", ("PUT", "POST", "PATCH"), "GET, HEAD, DELETE, OPTIONS")]:
            for method in methods:
                answer, _ = service.ask(method, path, b'{"text":"other"}')
                assert answer.status == 405, (method, path)
                assert set(answer.getheader("Allow").split(", ")) == set(allowed.split(", ")), (method, path)
        assert service.ask_json("GET", "/notes") == (200, [{"id": 1, "text": "stays"}])
