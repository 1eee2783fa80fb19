# SPDX-License-Identifier: BSD-3-Clause
"""scripts/rivals on small checkouts made by the test: what it builds, what it prints, and how it reports failures."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rivals_fakes import MUDUO, MYECHO, bare_repository, lay_out
from versus import roster

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "rivals"
BROKEN = "int words() { return 7 }\n"
PATIENCE_S = 120


@pytest.fixture
def rivals(tmp_path):
    """Returns a function that runs the script with --out and returns the finished process.

    The process has two more members. `sentences` has the lines on stderr, and `listed` the contenders in the list.
    """

    def run(*words, out=tmp_path / "out"):
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
        done = subprocess.run([SCRIPT, "--out", str(out), *map(str, words)], text=True, capture_output=True,
                              timeout=PATIENCE_S, env=environment, cwd=tmp_path)
        done.sentences = [line for line in done.stderr.splitlines() if not line.startswith("rivals: building ")]
        path = out / "contenders.txt"
        done.listed = roster.listed_in(path) if path.exists() else []
        return done

    return run


def answer(*words):
    return subprocess.run(words, text=True, capture_output=True, timeout=PATIENCE_S, check=True).stdout


def state_of(folder):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def test_a_named_path_is_built_and_left_as_it_was(rivals, tmp_path):
    lay_out(tmp_path / "from" / "muduo", MUDUO)
    before = state_of(tmp_path / "from")
    done = rivals("--from", "from", "muduo")
    assert done.returncode == 0, done.stderr
    programs = tmp_path / "out" / "bin"
    assert done.listed == [f"muduo={programs}/muduo_pingpong {{host}} {{port}} {{threads}}",
                           f"http:muduo={programs}/muduo_http --listen {{listen}} --threads {{threads}}",
                           f"drum:muduo={programs}/muduo_drum"]
    assert done.stdout == "".join(f"--contender '{line}'\n" for line in done.listed)
    assert answer(programs / "muduo_pingpong", "here") == "fake here 42\n"
    usage = subprocess.run([programs / "muduo_http"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2 and usage.stderr.startswith("usage: ")
    assert state_of(tmp_path / "from") == before
    first = (tmp_path / "out" / "contenders.txt").read_text().splitlines()[0]
    assert re.fullmatch(r"# muduo of a commit not known, g\+\+ .*, -O2 -DNDEBUG", first)


def test_flags_follow_the_usual_ones_and_a_second_call_adds_to_the_list(rivals, tmp_path):
    lay_out(tmp_path / "from" / "MyEchoServer", MYECHO)
    assert rivals("--from", tmp_path / "from", "--flags", "-O1 -DWORDS=9", "--jobs", 1, "MyEchoServer").returncode == 0
    assert answer(tmp_path / "out" / "bin" / "myecho_reactor") == "fake model 9\n"
    done = rivals("--from", tmp_path / "from", "muduo")
    assert done.returncode == 1
    assert [line.partition("=")[0] for line in done.listed] == ["model:MyEchoServer-reactor",
                                                               "model:MyEchoServer-thread-pool"]


def test_a_path_with_blanks_is_one_word(rivals, tmp_path):
    lay_out(tmp_path / "my checkouts" / "MyEchoServer", MYECHO)
    done = rivals("--from", "my checkouts", "MyEchoServer", out=tmp_path / "my mother's")
    assert done.returncode == 0, done.stderr
    assert roster.given(done.listed[0]).words("h", 1, 1)[0] == f"{tmp_path}/my mother's/bin/myecho_reactor"
    pasted = answer("bash", "-c", f"printf '%s\\n' {done.stdout.splitlines()[0]}")
    assert pasted.splitlines() == ["--contender", done.listed[0]]


def test_who_does_not_build_is_one_sentence_and_the_others_go_on(rivals, tmp_path):
    folder = lay_out(tmp_path / "from" / "muduo", MUDUO | {"muduo/base/Logging.cc": BROKEN})
    lay_out(tmp_path / "from" / "MyEchoServer", MYECHO)
    lay_out(tmp_path / "from" / "libio", {"http/http_multithread_server.hh": ""})
    done = rivals("--from", "from")
    assert done.returncode == 1
    said = {line.split()[1].rstrip(":"): line for line in done.sentences}
    assert said["muduo"].startswith(f"rivals: muduo: it does not build: {folder}/muduo/base/Logging.cc:1:")
    assert "error: expected ';'" in said["muduo"] and said["muduo"].endswith("out/work/muduo.log has all of it).")
    assert said["libio"] == (f"rivals: libio: {tmp_path}/from/libio is no checkout of libio: it has no "
                             "http/http_multithread_server.cc.")
    for name in ("uSockets", "uWebSockets", "cppcms"):
        assert said[name] == f"rivals: {name}: there is no folder {tmp_path}/from/{name}."
    assert len(done.sentences) == 6
    assert [line.partition("=")[0] for line in done.listed] == ["model:MyEchoServer-reactor",
                                                               "model:MyEchoServer-thread-pool"]


def test_what_built_once_and_fails_now_is_listed_no_more(rivals, tmp_path):
    lay_out(tmp_path / "from" / "MyEchoServer", MYECHO)
    assert len(rivals("--from", "from", "MyEchoServer").listed) == 2
    lay_out(tmp_path / "from" / "MyEchoServer", {"common/cmdline.cpp": BROKEN})
    done = rivals("--from", "from", "MyEchoServer")
    assert done.returncode == 1 and done.listed == [] and done.stdout == ""


def test_what_is_built_with_another_says_that_the_other_is_missing(rivals, tmp_path):
    lay_out(tmp_path / "from" / "uWebSockets", {"src/App.h": "", "src/HttpResponse.h": ""})
    done = rivals("--from", "from", "uWebSockets")
    assert done.returncode == 1
    assert done.sentences[0] == f"rivals: uWebSockets: there is no folder {tmp_path}/from/uSockets."


@pytest.mark.parametrize("words, why", [
    ((), "say where the sources are"),
    (("--from", "nowhere"), "nowhere is not a folder"),
    (("--from", "from", "--fetch"), "exclude each other"),
    (("--from",), "--from takes a value"),
    (("--from", "from", "mudou"), "there is no rival 'mudou'; there are muduo uSockets"),
    (("--from", "from", "--what"), "there is no option --what"),
    (("--from", "from", "--jobs", "none"), "--jobs none is not a number"),
    (("--from", "from", "--out", ""), "--out is empty"),
    (("--from", "from", "--out", "/dev/null"), "/dev/null is no folder that can be built into"),
    (("--fetch", "--upstream", "nowhere"), "nowhere, the table of --upstream, is not there"),
])
def test_called_wrongly(rivals, tmp_path, words, why):
    (tmp_path / "from").mkdir()
    done = rivals(*words)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert re.search(why, done.stderr)
    assert not (tmp_path / "out").exists()


def test_help_has_an_example_and_the_names(rivals):
    done = rivals("--help")
    assert done.returncode == 0 and "example: scripts/rivals --from" in done.stdout and "MyEchoServer" in done.stdout


def test_fetched_at_the_pinned_commit_and_only_once(rivals, tmp_path):
    url, (first, _) = bare_repository(tmp_path, MYECHO)
    table = tmp_path / "table.txt"
    table.write_text(f"# name URL commit\nMyEchoServer {url} {first}\n", encoding="utf-8")
    done = rivals("--fetch", "--upstream", table, "MyEchoServer")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "source" / "MyEchoServer" / "README").read_text() == "first"
    assert f"# MyEchoServer {first}, g++" in (tmp_path / "out" / "contenders.txt").read_text()
    shutil.rmtree(tmp_path / "upstream.git")
    assert rivals("--fetch", "--upstream", table, "MyEchoServer").returncode == 0, "an existing source is not fetched"


@pytest.mark.parametrize("pin, why", [
    ("0" * 40, "git cannot fetch commit 0000000000000000000000000000000000000000 of file://"),
    ("main", "gave commit {second}, not main."),
    ("", "has no line 'MyEchoServer URL COMMIT'."),
])
def test_another_commit_than_the_pinned_one_is_refused(rivals, tmp_path, pin, why):
    url, (_, second) = bare_repository(tmp_path, MYECHO)
    table = tmp_path / "table.txt"
    table.write_text(f"MyEchoServer {url} {pin}\n", encoding="utf-8")
    done = rivals("--fetch", "--upstream", table, "MyEchoServer")
    assert done.returncode == 1 and done.listed == []
    assert why.format(second=second) in done.sentences[0]
    assert not (tmp_path / "out" / "source" / "MyEchoServer").exists()


def test_a_place_that_is_none_is_told_by_gits_own_reason(rivals, tmp_path):
    table = tmp_path / "table.txt"
    table.write_text(f"MyEchoServer file:///nowhere {'0' * 40}\n", encoding="utf-8")
    done = rivals("--fetch", "--upstream", table, "MyEchoServer")
    assert done.returncode == 1 and "fatal: " in done.sentences[0] and done.sentences[-1] == "rivals: none is built"


def test_every_rival_has_its_pinned_commit(rivals):
    names = re.search(r"^names: (.*)$", rivals("--help").stdout, re.MULTILINE)[1].split()
    table = SCRIPT.parents[1] / "versus" / "rivals" / "upstream.txt"
    rows = [line.split() for line in table.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert [row[0] for row in rows] == names
    assert all(re.fullmatch(r"https://github\.com/\S+\.git", url) and re.fullmatch(r"[0-9a-f]{40}", commit)
               for _, url, commit in rows)
