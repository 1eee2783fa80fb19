# SPDX-License-Identifier: BSD-3-Clause
"""scripts/fleet: one command runs several generators. ssh and peal are stand-ins; the shell between them is real."""
import json
import os
import re
import select
import signal

import pytest

from fleet_fakes import PATIENCE_SECONDS, Fakes

LOAD = ["--", "load", "http", "http://server:8080/"]


@pytest.fixture(name="fakes")
def make_fakes(tmp_path):
    fakes = Fakes(tmp_path)
    yield fakes
    fakes.close()


def merged(fakes):
    return json.loads((fakes.folder / "out/merged.json").read_text())["merged"]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_all_start_at_one_instant_and_their_reports_are_merged(fakes):
    code, out, error = fakes.run("alice", "bob", "local", *LOAD)
    assert (code, out) == (0, "merged 3\n"), error
    assert [report["host"] for report in merged(fakes)] == ["alice", "bob", "local"]
    assert len({report["start_at"] for report in merged(fakes)}) == 1
    assert error.count("clock ") == 3
    assert (fakes.folder / "out/bob.txt").read_text() == "a report in words\n"


def test_arguments_with_spaces_and_quotes_arrive_as_they_were(fakes):
    words = ["load", "http", "http://s/?a=1&b=$HOME", "--header", "X-Say: it's \"so\"; `id` \\ *", "--body", "a\nb", ""]
    code, _, error = fakes.run("alice", "local", "--", *words)
    assert code == 0, error
    for report in merged(fakes):
        assert report["words"][:len(words)] == words
        assert report["words"][len(words):] == ["--start-at", f"{report['start_at']:.3f}", "--json", "-"]


def test_a_program_of_its_own_for_a_host_and_the_same_host_twice(fakes):
    other = fakes.folder / "my peal"
    other.symlink_to(fakes.folder / "peal")
    code, _, error = fakes.run(f"bob={other}", "bob", *LOAD, "--connections", "2")
    assert code == 0, error
    assert {path.name for path in (fakes.folder / "out").iterdir()} == {
        "bob.json", "bob.txt", "bob-2.json", "bob-2.txt", "merged.json"}


def test_an_unreachable_host_is_named_and_nothing_starts(fakes):
    code, out, error = fakes.run("alice", "gone", *LOAD)
    assert (code, out) == (1, "")
    assert "gone: unreachable: ssh: connect to host gone port 22: No route to host" in error
    assert os.listdir(fakes.folder / "out") == []


def test_a_failed_gate_counts_and_is_the_exit_code(fakes):
    code, out, error = fakes.run("alice", "bob", *LOAD, bob=3)
    assert (code, out) == (3, "merged 2\n")
    assert "bob: done, a gate failed" in error


def test_a_gate_that_fails_only_for_all_together(fakes):
    fakes.environment["FAKE_MERGE"] = "3"
    assert fakes.run("alice", *LOAD)[0] == 3


def test_a_merge_that_fails(fakes):
    fakes.environment["FAKE_MERGE"] = "1"
    code, _, error = fakes.run("alice", *LOAD)
    assert code == 1
    assert "failed with exit code 1" in error


def test_one_that_fails_ends_the_others(fakes):
    process = fakes.fleet("alice", "bob", *LOAD, alice="hang", bob="go:1")
    pids = fakes.wait_for_generators(2)  # or alice might be ended before it has begun
    fakes.let_go()
    _, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    assert "bob: exit code 1: a report in words" in error
    assert "ended: alice" in error
    assert not any(map(is_running, pids))
    assert not (fakes.folder / "out/merged.json").exists()


def test_called_wrongly_there_is_called_wrongly_here(fakes):
    assert fakes.run("alice", *LOAD, alice=2)[0] == 2


def test_a_clock_that_is_off(fakes):
    code, _, error = fakes.run("alice", "skewed", *LOAD)
    assert code == 1
    sentence = next(line for line in error.splitlines() if "skewed" in line)
    assert 2000 < float(re.search(r"clock \+([\d.]+) ms", sentence)[1]) < 4000
    assert "more than --clock-limit 20ms" in sentence


def test_a_clock_that_may_be_off(fakes):
    assert fakes.run("skewed", "--clock-limit", "1m", *LOAD)[0] == 0


@pytest.mark.parametrize("words, does, sentence", [
    (["alice", "bob"], {"bob": "garbage"}, "bob: its report is no JSON"),
    (["alice=/nowhere/peal"], {}, "alice: exit code 127: "),
    (["clockless"], {}, "clockless: its `date +%s.%N` says"),
    (["alice", "--limit", "1s"], {"alice": "hang"}, "alice: ended after --limit"),
])
def test_one_that_is_of_no_use_is_a_failure(fakes, words, does, sentence):
    code, _, error = fakes.run(*words, *LOAD, **does)
    assert code == 1
    assert sentence in error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_nothing_running(fakes, number):
    process = fakes.fleet("alice", "local", *LOAD, alice="hang", local="hang")
    pids = fakes.wait_for_generators(2)
    assert all(map(is_running, pids))
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, error
    assert "stopped" in error
    assert not any(map(is_running, pids))


def test_a_fleet_that_is_killed_leaves_nothing_running(fakes):
    process = fakes.fleet("alice", *LOAD, alice="hang")
    [pid] = fakes.wait_for_generators(1)
    gone = os.pidfd_open(pid)
    process.kill()
    process.communicate(timeout=PATIENCE_SECONDS)
    ended, _, _ = select.select([gone], [], [], PATIENCE_SECONDS)
    assert ended, "the generator outlived its fleet"
    os.close(gone)


@pytest.mark.parametrize("words, sentence", [
    (["alice"], "give hosts, --, and a command that begins with load"),
    (LOAD, "give hosts, --, and a command"),
    (["alice", "--", "serve", "pingpong"], "a command that begins with load"),
    (["alice", *LOAD, "--json", "x"], "--json is what the fleet itself adds"),
    (["alice", *LOAD, "--start-at=7"], "--start-at=7 is what the fleet itself adds"),
    (["=peal", *LOAD], "'=peal' is no host"),
    (["alice", "--delay", "soon", *LOAD], "'soon' is no time"),
    (["alice", "--logs", "x"], "--logs takes neither hosts nor a command"),
])
def test_called_wrongly(fakes, words, sentence):
    code, _, error = fakes.run(*words)
    assert code == 2
    assert sentence in error


def test_reports_of_an_earlier_run_are_not_overwritten(fakes):
    assert fakes.run("alice", *LOAD)[0] == 0
    code, _, error = fakes.run("alice", *LOAD)
    assert code == 2
    assert "is there already" in error
