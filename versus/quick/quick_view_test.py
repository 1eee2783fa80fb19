# SPDX-License-Identifier: BSD-3-Clause
"""What the view shows in each state of a run, on terminals of any size."""

import pytest

from versus.quick import quick_view
from versus.quick.quick_fakes import LINE, Clock, made
from versus.quick.quick_view import BAD, BOLD, FAINT, GOOD, PLAIN, UNSURE, frame
from versus.stats import MET, NOT_MET


def texts(progress, columns: int = 100, rows: int = 30) -> list[str]:
    return [line.text for line in frame(progress, columns, rows)]


def running(clock: Clock):
    """Returns the progress in the middle of its first duel."""
    progress = made(clock)
    progress.begin("one", 90.0)
    clock.move(50.0)
    progress.on_restart(LINE.format(12))
    progress.detail("restart 12 of at most 60")
    return progress


def decided(clock: Clock):
    """Returns the progress in its second duel, after a first one with a claim met, one not met and one undecided."""
    progress = running(clock)
    clock.move(40.0)
    progress.end("one", "22 restarts in 90 s")
    for row, verdict in zip(progress.step("one").rows, (MET, NOT_MET, "undecided")):
        row.ratio, row.low, row.high, row.verdict = 0.961, 0.945, 0.978, verdict
    progress.begin("two", 80.0)
    return progress


def test_before_the_first_step():
    lines = texts(made(Clock()))
    assert lines[0] == "Step 0 of 4, about 3 min 20 s left" and lines[1] == f"[{'.' * 60}]   0 %"
    assert lines[-4:] == ["[ ] echo, one", "[ ] echo, two", "[ ] drum", "[ ] the page"]


def test_a_step_that_runs_with_first_ratios():
    lines = frame(running(Clock()), 100, 30)
    shown = [line.text for line in lines]
    assert shown[0] == "Step 1 of 4, about 2 min 30 s left" and shown[1].endswith("]  25 %")
    assert "Now: echo, one. two take turns" in shown
    at = shown.index("[>] echo, one                                     restart 12 of at most 60")
    assert shown[at + 1].split() == "peal-epoll / raw-epoll 0.960 (0.937 to 0.984) bar 1.05 preliminary".split()
    assert shown[at + 2].split() == "peal-epoll / libuv 0.910 bar 1.00 preliminary".split()
    assert shown[at + 3] == "[ ] echo, two", "a ratio without a value is not shown"
    assert [line.tone for line in lines[at:at + 4]] == [BOLD, UNSURE, UNSURE, FAINT]


def test_decided_ratios_stay_and_have_the_tone_of_their_verdict():
    lines = frame(decided(Clock()), 100, 30)
    at = next(at for at, line in enumerate(lines) if line.text.startswith("[x] echo, one"))
    assert lines[at].text.endswith("22 restarts in 90 s")
    assert [line.tone for line in lines[at:at + 5]] == [PLAIN, GOOD, BAD, PLAIN, BOLD]
    assert lines[at + 1].text.split()[-3:] == ["bar", "1.05", "met"]


def test_the_end():
    clock = Clock()
    progress = decided(clock)
    progress.end("two")
    for name in ("drum", "page"):
        progress.begin(name, 0.0)
        progress.end(name)
    clock.move(1.0)
    lines = texts(progress)
    assert lines[0] == "Step 4 of 4, a few seconds left" and lines[1] == f"[{'#' * 60}] 100 %"
    assert not any(line.startswith("Now: ") for line in lines)


@pytest.mark.parametrize("columns", [1, 10, 40, 75, 76, 100, 300])
@pytest.mark.parametrize("rows", [1, 2, 5, 10, 19, 20, 30, 100])
def test_every_size_is_kept(columns, rows):
    for progress in (made(Clock()), running(Clock()), decided(Clock())):
        lines = texts(progress, columns, rows)
        assert len(lines) <= rows and all(len(line) <= columns and line.isascii() for line in lines if line)


def test_a_narrow_and_short_terminal_shows_the_step_that_runs():
    assert texts(running(Clock()), 40, 8) == [
        "Step 1 of 4, about 2 min 30 s left", "[########........................]  25 %",
        "Now: echo, one, restart 12 of at most 60", "[>] echo, one", "    peal-epoll / raw-epoll",
        "      0.960 (0.937 to 0.984) preliminary", "    peal-epoll / libuv", "      0.910 preliminary"]
    assert "    restart 12 of at most 60" in texts(running(Clock()), 40, 24)
    assert texts(decided(Clock()), 40, 5)[2:] == [
        "Now: echo, two", "      0.961 (0.945 to 0.978) undecided", "[>] echo, two"]


def test_web_servers_are_named_without_their_prefix():
    progress = running(Clock())
    row = progress.now.rows[0]
    row.subject, row.rival = "http-peal-epoll", "http-nginx"
    assert any(line.startswith("    peal-epoll / nginx  ") for line in texts(progress))


@pytest.mark.parametrize("seconds, words", [(0, "0 s"), (42.4, "42 s"), (60, "1 min 00 s"), (134, "2 min 10 s"),
                                            (299, "5 min 00 s")])
def test_durations(seconds, words):
    assert quick_view.duration(seconds) == words
