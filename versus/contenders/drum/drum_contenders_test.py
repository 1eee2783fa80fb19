# SPDX-License-Identifier: BSD-3-Clause
"""Every drum runs the same experiment and prints the same document. This holds for the contenders and for `peal drum`.

The tests use built programs: PEAL_BIN_DIR names the folder that holds peal and contenders/. Tests of programs that are
not built are skipped.
"""

import json
import resource
import subprocess

import pytest

from versus.built_programs import built

PEAL = {f"peal-{engine}": ["peal", "drum", "--engine", engine] for engine in ("epoll", "poll", "select", "io_uring")}
OTHERS = {name: [f"contenders/{name}"]
          for name in ("drum_raw_epoll", "drum_libevent", "drum_libevent_changelist", "drum_libev")}
DRUMS = PEAL | OTHERS
ROUND = {"total_ns", "loop_ns", "waits", "events", "receives"}
PATIENCE_S = 60


@pytest.fixture(params=sorted(DRUMS))
def drum(request):
    """Returns a function that runs a drum with the given options and returns the finished process."""
    program, *words = DRUMS[request.param]
    path = built(program)

    def play(*more, fd_limit=None):
        def limit_fds():
            if fd_limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (fd_limit, fd_limit))

        done = subprocess.run([path, *words, *more], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              preexec_fn=limit_fds)
        if "cannot run here" in done.stderr:
            pytest.skip(done.stderr)
        return done

    return play


def document(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "a watcher was idle for more than ten seconds, or the drum failed"
    return json.loads(done.stdout)


def test_every_round_receives_the_sticks_and_the_writes(drum):
    found = document(drum("-n", "120", "-a", "7", "-w", "350", "--rounds", "6", "--json", "-"))
    assert [each["receives"] for each in found["rounds"]] == [357] * 6


def test_the_document_is_the_same_everywhere(drum):
    found = document(drum("-n", "40", "-a", "4", "-w", "60", "--rounds", "3", "--json", "-"))
    assert set(found) == {"schema", "tool", "library", "engine", "pairs", "active", "writes", "timeouts", "idle",
                          "transport", "rounds"}
    assert found["schema"] == 1 and found["tool"] == "drum" and found["library"]
    assert (found["pairs"], found["active"], found["writes"]) == (40, 4, 60)
    assert found["timeouts"] is False and found["idle"] == "none" and found["transport"] == "socketpair"
    for each in found["rounds"]:
        assert set(each) == ROUND
        assert 0 < each["loop_ns"] <= each["total_ns"]
        assert 1 <= each["waits"] and each["events"] >= each["receives"] == 64


def test_idle_timers_change_no_byte(drum):
    found = document(drum("-n", "100", "-a", "10", "-w", "500", "--rounds", "4", "--timeouts", "--json", "-"))
    assert found["timeouts"] is True and found["idle"] in {"touch", "rearm"}
    assert [each["receives"] for each in found["rounds"]] == [510] * 4


def test_pipes_defaults_and_edges(drum):
    assert document(drum("--pipes", "--rounds", "2", "--json", "-"))["transport"] == "pipe"
    found = document(drum("--json", "-"))
    assert (found["pairs"], found["active"], found["writes"], len(found["rounds"])) == (100, 1, 100, 25)
    for words, receives in ((("-n", "30", "-a", "30", "-w", "0"), 30), (("-n", "1", "-a", "1", "-w", "9"), 10),
                            (("-n", "10", "-a", "3", "-w", "20"), 23)):
        assert document(drum(*words, "--rounds", "2", "--json", "-"))["rounds"][1]["receives"] == receives


def test_every_round_registers_the_fds_again(drum):
    found = document(drum("-n", "200", "-a", "1", "-w", "1", "--rounds", "8", "--json", "-"))
    assert all(each["total_ns"] > each["loop_ns"] for each in found["rounds"])


def test_if_the_pairs_need_too_many_fds_the_error_says_how_many_fit(drum):
    done = drum("-n", "300", "--json", "-", fd_limit=256)
    assert done.returncode == 1 and done.stdout == ""
    assert "this process may open 256 fds: at most 112 pairs, not 300" in done.stderr


@pytest.mark.parametrize("words", [("-n", "0"), ("-a", "5", "-n", "4"), ("-w", "some"), ("--rounds", "1"), ("--what",)])
def test_wrong_options_are_refused(drum, words):
    done = drum(*words)
    assert done.returncode == 2 and done.stdout == "" and done.stderr != ""
