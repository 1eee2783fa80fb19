# SPDX-License-Identifier: BSD-3-Clause
"""The documents that show figures are those that the ledger makes, and a figure is marked once the code has changed."""

import json
import subprocess
import xml.dom.minidom

import pytest

from versus.figures import figures, figures_document, front_picture, ledger, staleness
from versus.run import environment

ROWS = [{"figure": "a | b", "bar": "<= 1", "measured": "0.9", "verdict": "met", "data": {"left": "out"}}]


def cell(title, *rows):
    return {"name": "c", "title": title, "unit": "message", "floor": "raw-epoll", "restarts": 21, "extra": 1,
            "rows": [{"contender": name, "ratio": ratio, "low": low, "high": high, "says": says,
                      "floor": name == "raw-epoll", "server_us": 4.2} for name, ratio, low, high, says in rows]}


RESULTS = {"plan": {"name": "quick"}, "started": "2026-11-28 10:00:00 UTC", "command": "python3 -m versus quick",
           "environment": {"Commit": "0123456789ab", "CPUs usable": "2", "Kernel": "Linux 6.18.44-distribution x86_64"},
           "claims": [{"verdict": "met"}, {"verdict": "not met"}],
           "cells": [cell("64 B", ("raw-epoll", 1.0, None, None, ""), ("peal-epoll", 0.98, 0.97, 0.99, "less"),
                          ("libuv", 1.01, 0.98, 1.04, "cannot tell")),
                     cell("GET", ("raw-epoll", 1.0, None, None, ""), ("nginx", 1.35, 1.31, 1.39, "more"))]}


@pytest.fixture(name="known")
def _known():
    made = ledger.read(ledger.PATH.with_name("there-is-no-such-file.json"))
    ledger.record_bars(made, "instructions", ROWS, "0123456789ab")
    ledger.record_table(made, "quick", RESULTS)
    return made


def test_the_documents_of_the_repository_are_what_the_ledger_makes():
    for path, text in figures.documents(ledger.read()).items():
        now = (ledger.ROOT / path).read_text(encoding="utf-8")
        assert figures_document.without_marks(now) == figures_document.without_marks(text), (
            f"run `/usr/bin/python3 -m versus figures`: {path} differs")


def test_a_figure_has_its_bar_and_says_when_and_how_it_was_measured(known, monkeypatch):
    monkeypatch.setattr(staleness, "changed_since", lambda commit: ())
    text = figures_document.document(known)
    assert "| a \\| b | <= 1 | 0.9 | met |\n" in text
    assert "at commit `0123456789ab` by `/usr/bin/python3 -m versus bench --only instructions`." in text
    assert "Stale" not in text.split("## instructions", 1)[1]


def test_a_table_stands_between_its_marks(known, monkeypatch):
    monkeypatch.setattr(staleness, "changed_since", lambda commit: ())
    page = "before\n<!-- figures: quick -->\nold\n<!-- end of figures -->\nafter\n"
    text = figures_document.filled(page, "quick", known["tables"]["quick"])
    assert "old" not in text and text.startswith("before\n") and text.endswith("-->\nafter\n")
    assert "| peal-epoll | 0.98 (0.97 to 0.99) | - |" in text
    assert "| libuv | *1.01 (0.98 to 1.04)* | - |" in text, "in italics: it cannot be told"
    assert "| nginx | - | 1.35 (1.31 to 1.39) |" in text
    assert "The machine: 2 CPUs, Linux 6.18 x86_64. 1 of 2 claims" in text
    assert "1 of 2 claims" in text
    with pytest.raises(figures_document.MarksMissing):
        figures_document.filled("no marks\n", "quick", known["tables"]["quick"])


def test_stale_figures_are_marked_and_the_marks_can_be_taken_away(known, monkeypatch):
    monkeypatch.setattr(staleness, "changed_since", lambda commit: ())
    fresh = figures_document.document(known)
    for changed in (("peal/net/a.cc",), ("peal/net/a.cc", "peal/tls/b.h"), None):
        monkeypatch.setattr(staleness, "changed_since", lambda commit, found=changed: found)
        marked = figures_document.document(known)
        assert "**Stale**" in marked.split("## instructions", 1)[1]
        assert figures_document.without_marks(marked) == fresh
        assert staleness.stale(known) == ["bench instructions", "table quick"]


def test_results_of_another_lab_are_refused(known):
    with pytest.raises(ledger.BadLedger):
        ledger.record_table(known, "quick", RESULTS | {"plan": {"name": "full"}})
    with pytest.raises(ledger.BadLedger):
        figures.write(["nothing=results.json"])


def test_only_code_makes_a_figure_stale(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True,
                       capture_output=True)

    source = tmp_path / "peal/net/a.cc"
    source.parent.mkdir(parents=True)
    source.write_text("int a;  // one\n")
    (tmp_path / "peal/net/a_test.cc").write_text("int test;\n")
    document = tmp_path / "docs/figures.md"
    document.parent.mkdir()
    document.write_text("1\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True,
                            check=True).stdout.strip()
    document.write_text("2\n")
    with monkeypatch.context() as within:
        within.chdir(tmp_path)
        assert environment.commit() == commit[:12], "documents do not count"
    source.write_text("// Another comment.\nint  a;\n")
    (tmp_path / "peal/net/a_test.cc").write_text("int other;\n")
    assert staleness.changed_since(commit) == ()
    staleness.changed_since.cache_clear()
    monkeypatch.chdir(tmp_path)
    assert environment.commit().endswith(" with changes"), "a comment has changed"
    source.write_text("int b;\n")
    assert staleness.changed_since(commit) == ("peal/net/a.cc",)
    assert staleness.changed_since("0000000") is None
    assert staleness.changed_since(commit + " with changes") is None
    staleness.changed_since.cache_clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_one_file_with_colours_of_its_theme(known, theme):
    svg = front_picture.draw(known["tables"]["quick"], theme)
    xml.dom.minidom.parseString(svg)
    assert "var(" not in svg and front_picture.colours(theme)["--paper"].strip() in svg
    assert "echo, 64 B" in svg and "nginx" in svg


def test_the_ledger_of_the_repository_can_be_read():
    known = ledger.read()
    assert json.loads(json.dumps(known)) == known
