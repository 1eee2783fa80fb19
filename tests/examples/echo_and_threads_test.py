# SPDX-License-Identifier: BSD-3-Clause
"""The echo servers, the simulated world, the programs about threads, and a check that every example is tested."""
import pathlib
import re

import pytest

from programs import Program, connect, read_exactly, run_program

TESTS = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["echo", "echo_coroutine"])
def test_an_echo_server_sends_back_what_comes(name):
    with Program(name, "127.0.0.1:0") as server:
        address = server.address()  # the line must come at once, although stdout is a pipe
        with connect(address) as first, connect(address) as second:
            for peer, sent in [(first, b"one"), (second, b"two" * 100_000), (first, b"three")]:
                peer.sendall(sent)
                assert read_exactly(peer, len(sent)) == sent
        code, _, errors = server.end()
        assert (code, errors) == (0, "")


@pytest.mark.parametrize("name", ["echo", "echo_coroutine"])
def test_an_echo_server_that_cannot_listen_says_so(name):
    code, printed, errors = run_program(name, "nowhere")
    assert (code, printed) == (1, "") and re.fullmatch(r"cannot listen on nowhere: .+\n", errors)


def test_two_hundred_simulated_worlds_and_one_of_them_by_its_seed():
    with Program("simulated_world") as worlds:
        assert worlds.wait() == (0, "200 worlds, no wrong sum\n", "")
    with Program("simulated_world", 7) as first, Program("simulated_world", 7) as second:
        code, trace, _ = first.wait()
        assert code == 0 and trace.count("\n") > 10
        assert second.wait()[1] == trace, "the same seed must give the same world"


def test_simulated_machines_whose_office_forgets_only_what_it_did_not_sync():
    code, printed, _ = run_program("simulated_machines")
    assert (code, printed) == (0, "seeds 1 to 60: no failure\n")
    code, printed, _ = run_program("simulated_machines", "forgetful")
    assert code == 1 and re.match(r"seed \d+ fails: ticket \d+ was given twice\n  Of \d+ faults 1 is ", printed)
    assert "of last on 10.0.0.1 at 00:01.000000\n" in printed


def test_what_threads_share_and_hand_over():
    assert run_program("thread_locks") == (0, "3 visitors, paid\n", "")
    code, printed, _ = run_program("thread_queues")
    assert code == 0 and re.fullmatch(r"130 bytes\n500500: 1000 tasks, \d+ by the submitter, 0 threw\n", printed)


def test_threads_with_names():
    code, printed, _ = run_program("thread_objects")
    assert code == 0 and re.fullmatch(r"echo is port 7; main's own\nclerk, thread \d+\n", printed)


def test_what_several_loops_share():
    with Program("loops_and_threads") as program:
        printed = "withdrawn in time: true\nvotes for elm: 1\nnames on all loops: 5\nsum: 500500\n"
        assert program.wait() == (0, printed, "")


def test_trouble_in_a_thread_is_logged_with_its_stack(tmp_path):
    log = tmp_path / "log"
    assert run_program("thread_trouble", log) == (0, "", "")
    text = log.read_text()
    assert "2 arguments" in text and "the vault stays shut\n" in text and "open_the_vault" in text


def test_times_text_and_files():
    with Program("thread_values") as program:
        code, printed, errors = program.wait()
        assert (code, errors) == (0, "")
        assert "day 19882 of the epoch, weekday 6\n" in printed and printed.endswith("**hello**!\n")
        assert f"process {program.process.pid} of thread_values, " in printed


def test_every_example_is_driven_by_a_test():
    """The README promises this. guide_test.py types the commands of the guide's pages, so they count, too."""
    tests = "".join(file.read_text() for file in TESTS.rglob("*_test.*"))
    typed = "".join(page.read_text() for page in (TESTS.parent / "docs/guide").glob("*.md"))
    programs = [file.stem for file in (TESTS.parent / "examples").rglob("*.cc") if "\nint main(" in file.read_text()]
    assert len(programs) > 60
    assert [name for name in programs if not re.search(f'"(?:[^"]*/)?{name}"', tests)
            and not re.search(rf"^\$ (?:\w+=\S+ )*{name}\b", typed, re.MULTILINE)] == []
