# SPDX-License-Identifier: BSD-3-Clause
"""ARCHITECTURE.md lists five ways through the code as numbered steps. Each step names a file that exists and a function
that this file defines or declares. The page also lists every room of the library."""
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
WAYS = ["Accept to open", "Bytes to callback", "Send to socket", "Close to gone", "Request to answer"]
CALL = re.compile(r"`([\w/]+\.(?:cc|h))` `([\w:~]+)\(\)`")
# Functions of the API that a step may mention without their file.
API = {"`send()`", "`close()`", "`abort()`"}
COLUMNS = 120


def steps(way):
    """The numbered steps of a way, as (number, text), with wrapped lines joined."""
    section = re.search(rf"^### {way}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if section is None:
        return []
    found = re.findall(r"^(\d+)\. (.*(?:\n   .*)*)", section[1], re.MULTILINE)
    return [(int(number), " ".join(text.split())) for number, text in found]


CALLS = sorted({call for way in WAYS for _, text in steps(way) for call in CALL.findall(text)})


@functools.cache
def code(path):
    """The file's text without comments, and with empty string literals."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"//[^\n]*|/\*.*?\*/|(\"(?:[^\"\\\n]|\\.)*\")", lambda match: '""' if match[1] else "", text,
                  flags=re.DOTALL)


def members(text, name):
    """The bodies of the class `name`, without the bodies of its functions and nested classes."""
    for match in re.finditer(rf"\b(?:class|struct) (?:alignas\(\w+\) )?{name}\b[^;{{()]*{{", text):
        depth, body = 1, []
        for sign in text[match.end():]:
            depth += (sign == "{") - (sign == "}")
            if depth == 0:
                break
            if depth == 1:
                body.append(sign)
        yield "".join(body)


def has_function(path, function):
    """Whether the file defines or declares the function. A call of it does not count."""
    scope, _, name = function.rpartition("::")
    # A definition outside of a class begins its line, and nothing before its name is an expression.
    if re.search(rf"^(?!return\b)[^\s#/=;{{}}()][^=;{{}}()\n]*\b{re.escape(function)}\(|^{re.escape(function)}\(",
                 code(path), re.MULTILINE):
        return True
    return any(re.search(rf"(?<![.>:\w]){re.escape(name)}\(", body) for body in members(code(path), scope or "-"))


def test_a_call_is_no_definition():
    states = "peal/net/parts/connection_states.cc"
    assert has_function(states, "Connection::close")
    assert has_function("peal/net/connection.h", "Connection::close")
    assert not has_function(states, "ConnectionSet::release")
    assert not has_function(states, "Connection::release")
    assert not has_function("peal/net/server.cc", "Distributor::adopt")


@pytest.mark.parametrize("way", WAYS)
def test_a_way_has_steps_that_count_up(way):
    numbers = [number for number, _ in steps(way)]
    assert len(numbers) > 3
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("way", WAYS)
def test_a_step_begins_with_a_file_and_a_function(way):
    for number, text in steps(way):
        assert re.match(rf"{CALL.pattern}: [A-Z`]", text), f"step {number}"
        assert set(re.findall(r"`[^`]*\(\)`", CALL.sub("", text))) <= API, f"step {number}"


@pytest.mark.parametrize("path", sorted({path for path, _ in CALLS}))
def test_a_file_has_the_functions_that_steps_name(path):
    assert (ROOT / path).is_file()
    assert [name for at, name in CALLS if at == path and not has_function(path, name)] == []


def test_every_room_of_the_library_is_listed():
    rooms = [folder.relative_to(ROOT).as_posix() for folder in sorted((ROOT / "peal").rglob("*")) if folder.is_dir()]
    public = [room for room in rooms if "/parts" not in room and "__pycache__" not in room]
    assert len(public) > 20
    assert [room for room in public if f"`{room}/`" not in PAGE] == []


def test_lines_outside_of_tables_are_short():
    lines = enumerate(PAGE.splitlines(), 1)
    assert [number for number, line in lines if len(line) > COLUMNS and not line.startswith("|")] == []
