# SPDX-License-Identifier: BSD-3-Clause
"""Tests of contenders: the table, and commands given by users."""

import re
from pathlib import Path

import pytest

from versus.quick import quick_plan
from versus import roster
from versus.fakes import make_bin, write_program

OURS = ("peal-epoll", "peal-uring", "http-peal-epoll", "http-peal-uring", "http-peal-epoll-unpooled", "peal-tls-epoll",
        "peal-tls-uring", "https-peal-epoll", "https-peal-uring")


def test_a_command_is_filled_in_word_by_word():
    contender = roster.given("mine=./my server --at {host}:{port} --listen={listen} -t {threads}")
    assert contender.words("127.0.0.1", 9981, 2) == [
        "./my", "server", "--at", "127.0.0.1:9981", "--listen=127.0.0.1:9981", "-t", "2"]


def test_quotes_keep_words_together():
    contender = roster.given("mine='./a path/server' {port}")
    assert contender.words("127.0.0.1", 1, 1) == ["./a path/server", "1"]


@pytest.mark.parametrize("text", ["mine", "mine=", "=./server {port}", "mi ne=./s {port}", "mine=./server",
                                  "mine=./s {threads}", "mine=./s {port} {nonsense}", "mine=./s '{port}",
                                  "mine=./s {0} {port}", "gopher:mine=./s {port}", "http:=./s {port}"])
def test_a_malformed_contender_is_one_sentence(text):
    with pytest.raises(roster.BadContender) as raised:
        roster.given(text)
    assert "\n" not in str(raised.value) and str(raised.value).endswith(".")


def test_a_drummer_needs_no_address():
    contender = roster.given("drum:mine=./my_drum --fast '{a}'")
    assert contender.kind == roster.DRUM and contender.name == "mine"
    assert contender.command == ("./my_drum", "--fast", "{a}")


def test_contenders_are_listed_in_a_file(tmp_path):
    path = tmp_path / "contenders.txt"
    path.write_text("# mine, of today\n\nmine=./s {port}\n  http:mine=./w {listen}  \ndrum:mine=./d\n")
    assert roster.listed_in(path) == ["mine=./s {port}", "http:mine=./w {listen}", "drum:mine=./d"]
    path.write_text("mine=./s {port}\nnonsense\n", encoding="utf-8")
    with pytest.raises(roster.BadContender, match="contenders.txt: 'nonsense' is not NAME=COMMAND."):
        roster.listed_in(path)
    with pytest.raises(roster.BadContender, match="cannot read .*nowhere: No such file"):
        roster.listed_in(tmp_path / "nowhere")


def test_the_tables_commands_have_the_expected_words(tmp_path):
    table = {contender.name: contender for contender in roster.built_in(tmp_path)}
    assert table["peal-uring"].words("127.0.0.1", 7, 3) == [
        f"{tmp_path}/peal", "serve", "pingpong", "--engine", "io_uring", "--listen", "127.0.0.1:7", "--threads", "3"]
    assert table["asio-per-thread"].words("127.0.0.1", 7, 3)[0] == f"{tmp_path}/contenders/asio_per_thread"


def test_every_program_that_the_quick_lab_starts_is_built_for_it(tmp_path):
    quick = {name for cell in quick_plan.CELLS for name in cell.contenders}
    started = {Path(contender.program).name for contender in roster.built_in(tmp_path) if contender.name in quick}
    folder = Path(__file__).parent / "contenders"
    scripts = {name for name in started if (folder / name / f"{name}.py").exists()}  # scripts are copied, not built
    listed = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    built = re.search(r"foreach\(name (.*)\)\n.*\n +add_dependencies\(quick_lab", listed)
    assert set(built[1].split()) | scripts | {"peal"} == started


def test_contenders_that_are_not_built_are_named(tmp_path):
    ready, absent = roster.choose(make_bin(tmp_path / "bin", ("raw_epoll",)), [], [])
    assert [contender.name for contender in ready] == ["raw-epoll", *OURS]
    usual = [contender for contender in roster.built_in(tmp_path) if contender.usual]
    assert any(line.startswith("libuv: ") for line in absent) and len(absent) == len(usual) - 1 - len(OURS)


def test_the_reason_of_a_failed_build_is_repeated(tmp_path):
    folder = make_bin(tmp_path / "bin", ())
    (folder / "contenders" / "http_go.missing").write_text("go is not installed\n")
    _, absent = roster.choose(folder, [], ["http-go"])
    assert absent == ["http-go: go is not installed"]


def test_a_launcher_without_its_program_cannot_run(tmp_path, monkeypatch):
    folder = make_bin(tmp_path / "bin", ("http_nginx",))
    monkeypatch.setattr(roster, "SYSTEM_FOLDERS", "")
    monkeypatch.setenv("PATH", str(folder))
    assert roster.choose(folder, [], ["http-nginx"]) == ([], ["http-nginx: nginx is not installed"])
    write_program(folder / "nginx", "")
    assert [contender.name for contender in roster.choose(folder, [], ["http-nginx"])[0]] == ["http-nginx"]


def test_an_experiment_takes_contenders_of_its_kind(tmp_path):
    folder = make_bin(tmp_path / "bin", ("raw_epoll", "http_raw_epoll", "http_python"))
    extra = ["mine=/bin/cat {port}", "http:mine=/bin/cat {listen}"]
    everyone, _ = roster.choose(folder, extra, [])
    speaking = {kind: [c.name for c in roster.choose(folder, extra, [], kind)[0]] for kind in roster.KINDS}
    assert speaking == {"pingpong": ["raw-epoll", "peal-epoll", "peal-uring", "mine"],
                        "http": [*OURS[2:5], "http-raw-epoll", "http-python", "mine"], "model": [], "drum": [],
                        "tls": list(OURS[5:7]), "https": list(OURS[7:])}
    assert len(everyone) == sum(map(len, speaking.values()))
    assert not any(c.kind == roster.DRUM for c in roster.choose(folder, ["drum:mine=/bin/cat"], ["mine"])[0])
    assert roster.given("pingpong:mine=/bin/cat {port}").kind == roster.PINGPONG
    assert roster.given("model:mine=/bin/cat {port}").kind == roster.MODEL


def test_only_named_contenders_run_and_unknown_names_are_refused(tmp_path):
    folder = make_bin(tmp_path / "bin")
    ready, absent = roster.choose(folder, ["mine=/bin/cat {port}"], ["mine", "libuv"])
    assert [contender.name for contender in ready] == ["libuv", "mine"] and not absent
    with pytest.raises(roster.BadContender, match="no contender 'nobody'"):
        roster.choose(folder, [], ["nobody"])
    with pytest.raises(roster.BadContender, match="two contenders"):
        roster.choose(folder, ["libuv=/bin/cat {port}"], [])
