# SPDX-License-Identifier: BSD-3-Clause
"""Code that must not compile, and what the compilers must say about it.

They must report one error whose sentence says what is accepted. Before, they listed pages of candidates.
"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILERS = [name for name in ("g++", "clang++-19") if shutil.which(name)]
HEADERS = ["peal/coro/co_server.h", "peal/coro/scope.h", "peal/http/server/http_server.h", "peal/loop/loop_group.h",
           "peal/net/client.h", "peal/http/websocket/websocket.h", "peal/share/sharded.h"]

ARGUMENTS = "a callback is called with the arguments of its Signature"
RESULT = "a callback returns what its Signature says, void as a rule"
CHANGES = "several loops call this callback at once"
HANDLER = "an HTTP handler is called with an HttpExchange&, by reference"
ANSWER = "an HTTP handler returns void or, a coroutine, Task<>"
MUTABLE = "an HTTP handler is called by several loops at once: it is no mutable lambda"
ASKED = "the function given to ask() takes a reference to the object, and nothing else"
VALUE = "the function given to ask() must return a value, not a reference"
ASKED_TASK = "the function given to ask() must not be a coroutine"
OWNS = "a function that owns something must be a variable declared before the co_await"
MADE = "the object of an OnLoop is made by a function that takes a Loop&"
SPAWN = "a Scope spawns a Task<>: call the coroutine"

# Each mistake has the code that a user writes, the sentence of the error, and a text that the first lines must contain.
WRONG = {
    "message of the wrong type":
        ("Server s(loop, {.on_message = [](Connection&, std::string) {}});", ARGUMENTS, "Connection&, peal::Buffer&"),
    "no argument": ("Server s(loop, {.on_open = [] {}});", ARGUMENTS, "Connection&"),
    "client": ("Client c(loop, {.on_close = [](Connection&, int, int) {}});", ARGUMENTS, "CloseReason"),
    "posted with an argument": ("loop.post([](Loop&) {});", ARGUMENTS, "void()"),
    "timer that answers": ("loop.after(std::chrono::seconds(1), [] { return 1; });", RESULT, "void()"),
    "coroutine posted": ("loop.post([]() -> Task<> { co_return; });", RESULT, "void()"),
    "coroutine for a message":
        ("Server s(loop, {.on_message = [](Connection&, Buffer&) -> Task<> { co_return; }});", RESULT, "Buffer&"),
    "coroutine for a signal": ("(void)loop.on_signal(1, []() -> Task<> { co_return; });", RESULT, "void()"),
    "coroutine for a drain":
        ("void f(Server& s) { s.drain(std::chrono::seconds(1), [](const DrainReport&) -> Task<> { co_return; }); }",
         RESULT, "DrainReport"),
    "coroutine for a handle":
        ("void f(ConnectionHandle h) { h.run([](Connection&) -> Task<> { co_return; }); }", RESULT, "Connection&"),
    "mutable of several loops":
        ("void f(LoopGroup& g) { Server s(g, {.on_open = [n = 0](Connection&) mutable { ++n; }}); }", CHANGES, ""),
    "mutable of a WebSocket": ("WebSocketCallbacks c{.on_open = [n = 0](WebSocket&) mutable { ++n; }};", CHANGES, ""),
    "not movable in": ("auto f = [p = std::make_unique<int>()] {}; loop.post(f);", "std::move() it", ""),
    "server of plain functions": ("CoServer s(loop, [](Stream) {});", RESULT, "Stream"),
    "server of something else": ("CoServer s(loop, [](Connection&) -> Task<> { co_return; });", ARGUMENTS, "Stream"),
    "mutable server of several loops":
        ("void f(LoopGroup& g) { CoServer s(g, [n = 0](Stream) mutable -> Task<> { ++n; co_return; }); }", CHANGES, ""),
    "handler by value": ('router.get("/", [](HttpExchange) {});', HANDLER, ""),
    "handler of more": ('router.get("/", [](HttpExchange&, int) {});', HANDLER, ""),
    "handler that is a text": ('router.get("/", std::string("hello"));', HANDLER, ""),
    "handler that answers": ('router.get("/", [](HttpExchange&) { return 200; });', ANSWER, ""),
    "handler that awaits a number": ('router.get("/", [](HttpExchange&) -> Task<int> { co_return 1; });', ANSWER, ""),
    "mutable handler": ('router.get("/", [n = 0](HttpExchange&) mutable { ++n; });', MUTABLE, ""),
    "one handler for all": ("Router all([](HttpExchange) {});", HANDLER, ""),
    "asked of something else": ("(void)store.ask([](int&) { return 1; });", ASKED, ""),
    "asked for a reference": ("(void)store.ask([](std::string& s) -> std::string& { return s; });", VALUE, ""),
    "asked for a task": ("(void)store.ask([](std::string&) -> Task<int> { co_return 1; });", ASKED_TASK, ""),
    "asked by an owner": ("(void)store.ask([s = std::string()](std::string&) { return s; });", OWNS, ""),
    "asked for a callback of another type":
        ("store.ask(loop, [](std::string&) { return 1; }, [](std::string) {});", ARGUMENTS, ""),
    "asked of all for a reference":
        ("(void)stores.ask_all([](const std::string& s) -> auto& { return s; });", VALUE, ""),
    "asked of all in turn": ("(void)stores.ask_all([n = 0](std::string&) mutable { return ++n; });", ASKED, ""),
    "told what answers": ("store.tell([](std::string&) { return 1; });", RESULT, ""),
    "told to all in turn": ("stores.tell_all([n = 0](std::string&) mutable { ++n; });", CHANGES, ""),
    "made of something else": ("OnLoop<std::string> s(loop, [](int) { return std::string(); });", MADE, ""),
    "spawned without a call": ("scope.spawn([]() -> Task<> { co_return; });", SPAWN, ""),
    "spawned for a number": ("scope.spawn(number());", SPAWN, ""),
}
RIGHT = """
Server s(loop, {.on_message = [](Connection&, Buffer&) {}, .on_close = nullptr});
loop.post([n = 0]() mutable { ++n; });
router.get("/", [](HttpExchange&) -> Task<> { co_return; });
router.post("/", [](HttpExchange& exchange) { exchange.respond(204); });
CoServer c(loop, [](Stream) -> Task<> { co_return; });
scope.spawn(std::move(task));
(void)store.ask([](std::string& s) { return s.size(); });
stores.tell("a key", [](std::string& s) { s.clear(); });
store.ask(loop, [](const std::string& s) { return s.size(); }, [](Result<size_t>) {});
"""


# The beginning of the first line about an error: where the code was included from, or what was being compiled.
LEAD = re.compile(r"In file included from |\S+: (In |At global scope)|\S+:\d+:(\d+:)?\s+required ")
ERROR = re.compile(r"\berror: ")
LIMITS = {"g++": "-fmax-errors=0", "clang++-19": "-ferror-limit=0"}


def source_of(at, text):
    """Returns a function made of `text`, whose lines `#line` places in "wrong_AT.cc"."""
    functions = "\n".join(re.findall(r"^void f\(.*$", text, re.MULTILINE))
    statements = re.sub(r"^void f\(.*$", "", text, flags=re.MULTILINE)
    return (f'#line 1 "wrong_{at}.cc"\nnamespace wrong_{at} {{\n{functions}\n'
            "void use(Loop& loop, Router& router, Scope& scope, Task<> task, "
            "OnLoop<std::string>& store, Sharded<std::string>& stores) {\n"
            "(void)loop, (void)router, (void)scope, (void)task, (void)store, (void)stores;\n"
            f"{statements}\n}}\n}}\n")


def errors_of(said):
    """Splits a compiler's output into one group of lines for each error.

    A group has the lines that lead to the error, the error itself and its notes.
    """
    groups = [[]]
    for line in said.splitlines():
        full = any(ERROR.search(before) for before in groups[-1])
        if full and (LEAD.match(line) or ERROR.search(line)):
            groups.append([])
        groups[-1].append(line)
    return [group for group in groups if any(ERROR.search(line) for line in group)]


@pytest.fixture(scope="module", params=COMPILERS)
def compile_all(request):
    """Returns a function that compiles texts in one source file, each in a function of its own.

    That function returns the result of the compiler's run. The headers are compiled only once.
    """
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "all.h"
        header.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
        base = [request.param, "-std=c++23", "-I", str(ROOT), LIMITS[request.param]]
        built = str(header) + (".gch" if request.param == "g++" else ".pch")
        subprocess.run([*base, "-x", "c++-header", str(header), "-o", built], check=True, env=_plain())

        def compile_texts(texts):
            source = Path(folder) / "all.cc"
            source.write_text("using namespace peal;\nTask<int> number();\n" +
                              "".join(source_of(at, text) for at, text in enumerate(texts)))
            command = [*base, "-include", str(header), "-fsyntax-only", str(source)]
            return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=_plain())
        yield compile_texts


@pytest.fixture(scope="module")
def errors(compile_all):
    """Returns the groups of lines for each name of WRONG. All of WRONG is compiled at once."""
    answer = compile_all([text for text, _, _ in WRONG.values()])
    found = {name: [] for name in WRONG}
    for group in errors_of(answer.stderr):
        places = set(re.findall(r"\bwrong_(\d+)\.cc:", "\n".join(group)))
        assert len(places) == 1, "\n".join(group)
        found[list(WRONG)[int(places.pop())]].append(group)
    return found


def _plain():
    return {**os.environ, "LC_ALL": "C"}


def test_what_is_right_compiles(compile_all):
    answer = compile_all([RIGHT])
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_error_that_says_what_is_accepted(errors, what):
    _, sentence, named = WRONG[what]
    assert errors[what], "it must not compile"
    assert len(errors[what]) == 1, errors[what]
    lines = errors[what][0]
    error = next(line for line in lines if ERROR.search(line))
    assert sentence in error, lines
    assert named.replace(" ", "") in "".join(lines[:12]).replace(" ", ""), lines
    assert len(lines) <= 25, lines
