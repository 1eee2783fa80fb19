# SPDX-License-Identifier: BSD-3-Clause
"""Plays the pages of docs/guide, and docs/program.md: types each ```console block, and checks that it prints what the
page shows.

A page is written for people, so it names fixed ports and needs several terminals. The rules are:
- `$ COMMAND` is run by bash in a folder of the page's own. The examples and `peal` are on its path. The lines below
  are what it must print, standard error included.
- `<!-- stays: NAME -->` before a block: its single command keeps running, as in a terminal of its own. It must have
  printed the block's lines before the next block begins. In this command every port of 127.0.0.1 is replaced by 0. From
  then on, the port that it prints takes the place of the page's port, in commands and in expected lines.
- `<!-- then: NAME -->` before a block without a command: what NAME prints next. A line `^C` stands for SIGINT, and
  `$ kill -TERM $(pidof PROGRAM)` for SIGTERM to NAME. At the end of such a block, NAME must have ended.
- `...` inside an expected line is any text. On a line of its own it is any number of lines.

Everything that a page has started is killed when the page has been played.
"""
import contextlib
import os
import pathlib
import re
import select
import signal
import subprocess

import pytest

from programs import EXAMPLES, PATIENCE_SECONDS, tool

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*sorted(page for page in (ROOT / "docs/guide").glob("*.md") if "```console" in page.read_text()),
         ROOT / "docs/program.md"]
_BLOCK = re.compile(r"(?:<!-- (stays|then): (\w+) -->\n+)?```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PORT = re.compile(r"(?<=127\.0\.0\.1[: ])\d+|(?<=localhost:)\d+")
# On a busy machine, a loop may be held up. The watchdog then logs a warning with a stack of several lines, and counts
# it. Such lines are allowed.
_LOGGED = re.compile(r"\d{4}-\d\d-\d\dT\S+Z ")
_STALL = re.compile(_LOGGED.pattern + r"warning .* has been held for \d+ ms by ")
_ONE_STALL = re.compile(r"(peal_loop_stalls_total\S* )1")
_SIGNALS = [(re.compile(r"\^C"), signal.SIGINT), (re.compile(r"\$ kill -TERM \$\(pidof \w+\)"), signal.SIGTERM)]


def blocks(text):
    """Returns the blocks of a page as (kind, name, lines). The kind is None, "stays" or "then"."""
    return [(found[1], found[2], found[3].splitlines()) for found in _BLOCK.finditer(text)]


def commands(lines):
    """Returns the commands of a block as (command, lines that it must print)."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and not found[-1][1] and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line.removeprefix("> "), [])
        else:
            assert found, f"no command prints {line!r}"
            found[-1][1].append(line)
    return found


class Terminal:
    """A command that keeps running, in a process group of its own. Its output is read line by line."""

    def __init__(self, command, folder, environment):
        self.process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        self.says_more = False  # true after "...": it may print more lines than the page shows
        self._tells_of_stall = False
        self._pending = b""

    def _more(self):
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_SECONDS)
        assert ready, f"{self.process.args[2]} printed nothing more after {self._pending!r}"
        data = os.read(self.process.stdout.fileno(), 65536)
        self._pending += data
        return bool(data)

    def line(self):
        """Returns the next line, or None at the end."""
        while b"\n" not in self._pending:
            if not self._more():
                return None
        text, self._pending = self._pending.split(b"\n", 1)
        return text.decode()

    def may_say(self, line):
        """Returns whether this line is allowed where the page has another line, or none.

        Must be called for each line, in order.
        """
        if _LOGGED.match(line):
            self._tells_of_stall = bool(_STALL.match(line))
        return self.says_more or self._tells_of_stall

    def rest(self):
        """Waits for the end and returns the remaining lines."""
        while self._more():
            pass
        return self._pending.decode(errors="replace").splitlines()

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Player:
    """Plays one page."""

    def __init__(self, folder):
        self._folder = folder
        path = f"{EXAMPLES.resolve()}:{EXAMPLES.resolve().parent}:{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "LC_ALL": "C.UTF-8"}
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
            self._environment.pop(name, None)
        self._ports = {}
        self._terminals = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for terminal in self._terminals.values():
            terminal.kill()

    def play(self, kind, name, lines):
        if kind == "stays":
            (command, expected), = commands(lines)
            assert name not in self._terminals
            asked = _PORT.sub(lambda port: self._ports.get(port[0], "0"), command)
            self._terminals[name] = Terminal("exec env " + asked, self._folder, self._environment)
            self._prints(self._terminals[name], expected)
        elif kind == "then":
            self._goes_on(self._terminals[name], lines)
        else:
            for command, expected in commands(lines):
                self._types(command, expected)

    def _types(self, command, expected):
        typed = Terminal(self._meant(command), self._folder, self._environment)
        try:
            printed = typed.rest()
        finally:
            typed.kill()
        pattern = "".join("(?:.*\n)*" if line == "..." else self._pattern(line) + "\n" for line in expected)
        assert re.fullmatch(pattern, "".join(line + "\n" for line in printed)), \
            f"$ {command}\nexpected {expected}\nprinted {printed}"

    def _prints(self, terminal, expected):
        for line in expected:
            if line == "...":
                terminal.says_more = True
                continue
            while True:
                printed = terminal.line()
                assert printed is not None, f"the output ended before {line!r}"
                may_say = terminal.may_say(printed)
                found = re.fullmatch(self._pattern(line), printed)
                assert found or may_say, f"expected {line!r}\nprinted {printed!r}"
                if found:
                    break
            self._ports |= {name.removeprefix("port_"): port for name, port in found.groupdict().items()}
            terminal.says_more = False

    def _goes_on(self, terminal, lines):
        expected, ends = [], False
        for line in lines:
            asked = [number for pattern, number in _SIGNALS if pattern.fullmatch(line)]
            if asked:
                self._prints(terminal, expected)
                terminal.process.send_signal(asked[0])
                expected, ends = [], True
            else:
                expected.append(line)
        self._prints(terminal, expected)
        if ends:
            while (line := terminal.line()) is not None:
                assert terminal.may_say(line), f"unexpected output at the end: {line!r}"
            assert terminal.process.wait(PATIENCE_SECONDS) in (0, 128 + signal.SIGINT)

    def _meant(self, text):
        return _PORT.sub(lambda port: self._ports.get(port[0], port[0]), text)

    def _pattern(self, line):
        """Returns a regular expression for an expected line. A port of the page that is not known yet is a group."""
        if stalls := _ONE_STALL.fullmatch(line):
            return re.escape(stalls[1]) + "[1-9][0-9]*"
        escaped = re.escape(self._meant(line)).replace(r"\.\.\.", ".*")
        for port in set(_PORT.findall(line)) - set(self._ports):
            escaped = escaped.replace(port, f"(?P<port_{port}>[0-9]+)", 1)
        return escaped


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page, tmp_path):
    text = page.read_text()
    for name in ("nc", "curl"):
        if f" {name} -" in text:
            tool(name)
    with Player(tmp_path) as player:
        for block in blocks(text):
            player.play(*block)


def expected_to_fail(wrong, **more):
    return pytest.raises(AssertionError, **more) if wrong else contextlib.nullcontext()


def test_a_page_that_is_wrong_is_found(tmp_path):
    page = "```console\n$ echo one; echo two\none\n...\n$ echo three 1>&2\nthree\n```\n"
    for wrong, right in [("", ""), ("$ echo one; echo two\none\n...", "$ echo one; echo two\none\n"),
                         ("\nthree\n", "\nfour\n"), ("$ echo three", "$ echo four")]:
        (block,) = blocks(page.replace(wrong, right))
        with Player(tmp_path) as player, expected_to_fail(wrong, match="expected"):
            player.play(*block)


def test_a_server_that_says_something_else_is_found(tmp_path):
    page = ("<!-- stays: server -->\n```console\n$ echo_coroutine 127.0.0.1:7000\nlistening on 127.0.0.1:7000\n```\n"
            "```console\n$ echo hello | nc -N 127.0.0.1 7000\nhello\n```\n"
            "<!-- then: server -->\n```console\n^C\n```\n")
    for wrong, right in [("", ""), ("listening on", "listens on"), ("\nhello\n", "\nhi\n")]:
        found = blocks(page.replace(wrong, right) if wrong else page)
        with Player(tmp_path) as player, expected_to_fail(wrong):
            for block in found:
                player.play(*block)
