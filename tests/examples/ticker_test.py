# SPDX-License-Identifier: BSD-3-Clause
"""The clock as an event stream, read by hand and by a browser."""
import re

import pytest

from programs import PATIENCE_SECONDS, Program, connect, joined, run_program
from versus.page import browser


def lines_of(peer, request):
    peer.settimeout(PATIENCE_SECONDS)
    peer.sendall(request.encode())
    return peer.makefile("r", newline="\n", encoding="utf-8")


def test_the_clock_ticks_until_its_reader_leaves():
    with Program("ticker", "127.0.0.1:0", 5) as program:
        address = program.address()
        with connect(address) as peer:
            lines = lines_of(peer, "GET /ticks HTTP/1.0\r\n\r\n")
            head = "".join(iter(lines.readline, "\r\n"))
            assert "Content-Type: text/event-stream\r\n" in head and "Cache-Control: no-store\r\n" in head
            text = "".join(lines.readline() for _ in range(14))
            ticks = re.findall(r"event: watchers\ndata: 1\n\nevent: time\nid: (\d+)\ndata: \d\d:\d\d:\d\d\n\n", text)
            assert len(ticks) == 2 and int(ticks[1]) == int(ticks[0]) + 1
            lines.close()
        with connect(address) as peer:
            lines = lines_of(peer, "GET /ticks HTTP/1.0\r\nLast-Event-ID: 1\r\n\r\n")
            assert "".join(iter(lines.readline, "\r\n"))
            missed = [lines.readline() for _ in range(2)]
            assert missed[0] == "event: missed\n" and int(missed[1].removeprefix("data: ")) >= 1
            lines.close()
        assert program.end()[0] == 0


@pytest.mark.parametrize("words", [("127.0.0.1:0", "0"), ("127.0.0.1:0", "never")])
def test_a_wrong_call(words):
    code, printed, errors = run_program("ticker", *words)
    assert (code, printed) == (2, "") and errors.startswith("usage: ")


@pytest.mark.skipif(browser.program() is None, reason="chromium is not installed")
def test_a_browser_shows_it():
    with Program("ticker", "127.0.0.1:0", 5) as program, browser.opened() as page:
        page.visit(f"http://{joined(program.address())}/")
        page.until("/^\\d\\d:\\d\\d:\\d\\d$/.test(document.getElementById('time').textContent)")
        page.until("document.getElementById('watchers').textContent === '1'")
        page.ask("Runtime.evaluate", expression="document.getElementById('time').textContent = 'gone'")
        page.until("document.getElementById('time').textContent !== 'gone'")
        assert program.end()[0] == 0
