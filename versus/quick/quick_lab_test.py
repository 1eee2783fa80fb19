# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the whole quick lab with fake programs: options, duels, results, page, texts, exit code."""

import json
import re

import pytest

from versus import cli, fakes, made_up
from versus.page import quick_page
from versus.quick import quick_words
from versus.quick.quick_plan import CELLS, CLAIMS

NAMES = (*fakes.NAMES, "http_raw_epoll", "http_nginx", "http_libevent")


def play(folder, *words):
    fakes.make_bin(folder / "bin", NAMES)
    return made_up.played(folder, "quick", "--no-instructions", "--seed", "3", *words)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    return folder / "out", play(folder, "--experiments", ",".join(cell.name for cell in CELLS))


def test_every_cell_was_played_and_every_claim_judged(played):
    out, results = played
    nginx = any("nginx" in line for line in results["left_out"])  # if nginx is not installed, a line names it
    assert [cell["name"] for cell in results["cells"]] == [cell.name for cell in CELLS]
    assert all((out / f"duel-{cell.name}.json").exists() for cell in CELLS)
    assert len(results["claims"]) == len(CLAIMS)
    assert nginx or all(claim["verdict"] != "not measured" for claim in results["claims"])
    assert results["drum"] is None and results["not_played"] == []


def test_a_cell_compares_all_contenders_with_the_floor_cheapest_first(played):
    cell = next(cell for cell in played[1]["cells"] if cell["name"] == "16KiBx100")
    rows = {row["contender"]: row for row in cell["rows"]}
    assert cell["floor"] == "raw-epoll" and rows["raw-epoll"]["floor"] and "raw-epoll-twin" not in rows
    assert rows["libevent"]["ratio"] == pytest.approx(5000 / 3400, rel=0.05) and rows["libevent"]["says"] == "more"
    assert [row["ratio"] for row in cell["rows"]] == sorted(row["ratio"] for row in cell["rows"])


def test_the_page_and_the_terminal_say_the_same(played):
    out, results = played
    text = (out / "report.html").read_text()
    assert quick_page.render(results) == text
    sentence = quick_words.headline(results["claims"])[1]
    assert sentence in text and f"Verdict: {sentence}" in quick_words.summary(results)
    for claim in results["claims"]:
        assert claim["sentence"] in text and claim["sentence"] in quick_words.summary(results)
    assert not re.search(r"https?://(?!127)|@import|url\((?!#)", text)


def test_a_contender_that_cannot_start_is_left_out_and_named(tmp_path):
    (tmp_path / "mine").write_text("")
    results = play(tmp_path, "--experiments", "64Bx1", "--contender", "broken=/bin/false {port}", "--contender",
                   "mine=./mine {port}")
    assert any("broken: the server ended by itself" in line for line in results["left_out"])
    assert any(line.startswith("mine: ") for line in results["left_out"])
    assert "broken" not in {row["contender"] for row in results["cells"][0]["rows"]}


def test_a_claim_is_not_measured_if_only_one_of_its_contenders_plays(tmp_path):
    results = play(tmp_path, "--only", "raw-epoll,libuv")
    assert {cell["name"] for cell in results["cells"]} == {"64Bx1", "64Bx1000", "16KiBx100"}
    assert {claim["verdict"] for claim in results["claims"]} == {"not measured"}


def test_two_contenders_of_different_kinds_may_have_one_name(tmp_path):
    contenders = tmp_path / "bin" / "contenders"
    programs = {"64Bx1": contenders / "libuv", "keep100": contenders / "http_libevent"}
    serve = "--listen {listen} --threads {threads}"
    results = play(tmp_path, "--experiments", "64Bx1,keep100", "--contender", f"mine={programs['64Bx1']} {serve}",
                   "--contender", f"http:mine={programs['keep100']} {serve}")
    for cell in results["cells"]:
        assert any(row["contender"] == "mine" for row in cell["rows"])
        assert f"mine={programs[cell['name']]}" in cell["command"]


def test_three_contenders_with_one_name_listed_in_a_file(tmp_path):
    contenders = tmp_path / "bin" / "contenders"
    serve = "{} --listen {{listen}} --threads {{threads}}"
    fakes.write_program(tmp_path / "plays", "#!/bin/sh\nexit 3\n")
    (tmp_path / "list.txt").write_text(f"# of today\nmuduo={serve.format(contenders / 'libuv')}\n"
                                       f"http:muduo={serve.format(contenders / 'http_libevent')}\n"
                                       f"drum:muduo={tmp_path}/plays\n")
    results = play(tmp_path, "--experiments", "64Bx1,keep100,drum", "--contenders-from", str(tmp_path / "list.txt"))
    for cell, program in (("64Bx1", "libuv"), ("keep100", "http_libevent")):
        document = json.loads((tmp_path / "out" / f"duel-{cell}.json").read_text())
        assert any(found["name"] == "muduo" for found in document["contenders"])
        command = next(each["command"] for each in results["cells"] if each["name"] == cell)
        assert f"muduo={contenders}/{program}" in command
    drummed = [run for run in results["drum"]["runs"] if run["contender"] == "muduo"]
    assert drummed and all(run["gates"][0]["sentence"] == "The program failed: exit code 3." for run in drummed)


@pytest.mark.parametrize("text, why", [
    (None, "list.txt: No such file"),
    ("muduo\n", "'muduo' is not NAME=COMMAND"),
    ("drum:libev=./mine\n", "There are two drummers named 'libev'"),
])
def test_a_useless_list_of_contenders_is_refused(tmp_path, capsys, text, why):
    bin_dir = fakes.make_bin(tmp_path / "bin", NAMES)
    if text is not None:
        (tmp_path / "list.txt").write_text(text)
    words = ["quick", "--bin", str(bin_dir), "--out", str(tmp_path / "out"), "--contenders-from",
             str(tmp_path / "list.txt")]
    assert cli.main(words) == cli.CALLED_WRONGLY
    said = capsys.readouterr().err
    assert said.startswith("versus: ") and why in said and len(said.splitlines()) == 1
