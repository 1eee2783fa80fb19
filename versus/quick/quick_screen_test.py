# SPDX-License-Identifier: BSD-3-Clause
"""Where the progress is shown, and that a terminal is afterwards as it was before: on a pseudo-terminal, with fake
programs."""

import curses
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from versus import fakes
from versus.quick import quick_screen
from versus.quick.quick_fakes import LINE, Clock, made

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 60.0
LEFT_SCREEN, SHOWN_CURSOR = b"\x1b[?1049l", b"\x1b[?25h"
NAMES = (*fakes.NAMES, "http_raw_epoll", "http_nginx", "http_libevent")
# A duel that tells of one restart and then never ends.
ENDLESS = f"""#!{fakes.PYTHON} -ISE
import signal, sys
print("restart 1 of 8, round 4 of 4, 1.0 s of 9.0 s | peal-epoll/raw-epoll 1.250", file=sys.stderr, flush=True)
signal.pause()
"""


class Window:
    """A window of curses that keeps what is written."""

    def __init__(self, rows: int, columns: int):
        self.size, self.written = (rows, columns), {}

    def getmaxyx(self) -> tuple[int, int]:
        return self.size

    def erase(self) -> None:
        self.written = {}

    def addnstr(self, y: int, x: int, text: str, most: int, attribute: int) -> None:
        assert y < self.size[0] and x + min(len(text), most) < self.size[1], "the last column stays free"
        self.written[y] = (text[:most], attribute)

    def refresh(self) -> None:
        pass


class Terminal:
    """The lab on a pseudo-terminal of 100 columns and 30 rows, which is its controlling terminal."""

    def __init__(self, words: list[str], **environment: str):
        self.seen = b""
        self.mine, self.theirs = pty.openpty()
        self.resize(30, 100)
        self.before = termios.tcgetattr(self.theirs)
        self.lab = subprocess.Popen([fakes.PYTHON, "-m", "versus", "quick", "--no-instructions", "--seed", "3", *words],
                                    cwd=ROOT, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs,
                                    start_new_session=True, env=os.environ | {"TERM": "xterm"} | environment,
                                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, text: bytes) -> None:
        """Reads until `text` was written since the last call."""
        at = len(self.seen)
        while text not in self.seen[at:]:
            assert select.select([self.mine], [], [], PATIENCE_S)[0], self.seen
            self.seen += os.read(self.mine, 65536)

    def end(self) -> int:
        """Reads all that is written until the lab ends. Returns its exit code."""
        handle = os.pidfd_open(self.lab.pid)
        try:
            while self.mine in (ready := select.select([self.mine, handle], [], [], PATIENCE_S)[0]):
                self.seen += os.read(self.mine, 65536)
            assert ready, self.seen
        finally:
            os.close(handle)
        return self.lab.wait()

    def close(self) -> None:
        if self.lab.poll() is None:
            self.lab.kill()
            self.lab.wait()
        os.close(self.mine)
        os.close(self.theirs)


@pytest.fixture
def start(tmp_path):
    """Returns a function that starts the lab on a terminal, with fake programs."""
    fakes.make_bin(tmp_path / "bin", NAMES)
    started = []

    def begin(*words: str, **environment: str) -> Terminal:
        folders = ["--bin", str(tmp_path / "bin"), "--out", str(tmp_path / "out")]
        started.append(Terminal([*folders, *words], **environment))
        return started[-1]

    yield begin
    for terminal in started:
        terminal.close()


@pytest.mark.parametrize("rows, columns", [(30, 100), (10, 40), (1, 2)])
def test_the_view_is_drawn_into_any_window(rows, columns):
    progress, window = made(Clock()), Window(rows, columns)
    progress.begin("one")
    progress.on_restart(LINE.format(12))
    quick_screen.draw(window, progress, {"bold": curses.A_BOLD})
    assert 1 <= len(window.written) <= rows
    assert window.written[0] == ("Step 1 of 4, about 3 min 20 s left"[:columns - 1], curses.A_BOLD)


def test_without_a_terminal_each_line_is_printed_at_once(capsys):
    progress = made(Clock())
    with quick_screen.shown(progress, {"TERM": "xterm"}) as is_live:
        progress.say("one: it is played")
        assert capsys.readouterr().err == "one: it is played\n"
    assert not is_live and capsys.readouterr().err == ""


@pytest.mark.parametrize("term, wanted", [("xterm", True), ("dumb", False), ("", False), ("unknown", False),
                                          (None, False)])
def test_a_terminal_that_can_place_the_cursor_is_wanted(monkeypatch, term, wanted):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert quick_screen.is_wanted({} if term is None else {"TERM": term}) == wanted


def test_a_whole_run_ends_with_the_sentences_on_a_terminal_as_before(start):
    terminal = start("--experiments", "64Bx1,64Bx1000")
    assert terminal.end() == 0
    assert termios.tcgetattr(terminal.theirs) == terminal.before
    view, _, after = terminal.seen.partition(LEFT_SCREEN)
    assert b"echo, 64 B, 1,000 connections" in view
    assert SHOWN_CURSOR in terminal.seen and b"\x1b[3" in view  # colours
    assert b"64 B, 1 connection: 7 contenders and the A/A twin" in after, "the lines that the view replaced"
    assert after.rstrip().endswith(b"report.html")
    *_, sentences, _path = after.replace(b"\r", b"").strip().split(b"\n\n")
    assert sentences.count(b"\n- ") + sentences.startswith(b"- ") == 5


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "no-such-terminal"}])
def test_a_terminal_without_a_cursor_gets_plain_lines(start, environment):
    terminal = start("--experiments", "64Bx1", **environment)
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.seen and b"64 B, 1 connection: 7 contenders" in terminal.seen


def test_no_color(start, tmp_path):
    fakes.write_program(tmp_path / "bin" / "peal", ENDLESS)
    terminal = start("--experiments", "64Bx1", NO_COLOR="1")
    terminal.read_until(b"preliminary")
    assert b"\x1b[33m" not in terminal.seen


@pytest.mark.parametrize("how", ["the key", "SIGTERM"])
def test_an_interrupt_leaves_the_terminal_as_it_was_and_no_program(start, tmp_path, how):
    fakes.write_program(tmp_path / "bin" / "peal", ENDLESS)
    terminal = start("--experiments", "64Bx1")
    terminal.read_until(b"preliminary")
    terminal.resize(10, 40)
    terminal.read_until(b"peal-epoll / raw-epoll\x1b")  # the name has a line of its own
    duels = Path(f"/proc/{terminal.lab.pid}/task/{terminal.lab.pid}/children").read_text(encoding="ascii").split()
    if how == "the key":
        os.write(terminal.mine, b"\x03")
    else:
        terminal.lab.send_signal(signal.SIGTERM)
    assert terminal.end() == 1
    assert termios.tcgetattr(terminal.theirs) == terminal.before
    assert terminal.seen.index(SHOWN_CURSOR) and b"versus: stopped." in terminal.seen.partition(LEFT_SCREEN)[2]
    assert duels and not any(os.path.exists(f"/proc/{pid}") for pid in duels)
