# SPDX-License-Identifier: BSD-3-Clause
"""`peal` when its output cannot be written.

A full disk causes a sentence and an exit code, never an abort. If a standard stream is closed, no socket may get its
fd.
"""
import json
import subprocess

import pytest

from peal_program import PATIENCE_SECONDS, PEAL, listening, peal

# A busy machine may run no message for 40 ms.
BRIEF = ["--duration", "400ms", "--warmup", "0s", "--interval", "10ms"]
FAILED, CALLED_WRONGLY = 1, 2
HELPFUL = [[], ["serve"], ["serve", "http"], ["load"], ["load", "duel", "http"], ["load", "agent"], ["drum"], ["model"],
           ["model", "run"], ["model", "run", "reactor_epoll"], ["doctor"], ["tls"], ["tls", "self-signed"]]


@pytest.fixture(name="address", scope="module")
def fixture_address():
    with listening(PEAL, "serve", "pingpong") as (_, address):
        yield address


def to_full(place, *words):
    """Runs `peal` with one stream on a full disk. Returns the exit code and the text of the other stream."""
    other = "stderr" if place == "stdout" else "stdout"
    with open("/dev/full", "w", encoding="ascii") as full:
        done = peal(*words, capture_output=False, **{place: full, other: subprocess.PIPE})
    return done.returncode, getattr(done, other)


@pytest.mark.parametrize("words", [[], ["--json", "-"], ["--ndjson", "-"], ["--hdr", "-"], ["--openmetrics", "-"]],
                         ids=lambda words: " ".join(words) or "report")
def test_a_load_that_cannot_say_its_figures_failed(address, words):
    code, error = to_full("stdout", "load", "pingpong", address, *BRIEF, *words)
    assert code == FAILED and "could not be written to" in error


@pytest.mark.parametrize("output", ["--json", "--ndjson", "--hdr", "--openmetrics"])
def test_a_full_disk_is_named(address, output):
    done = peal("load", "pingpong", address, *BRIEF, output, "/dev/full")
    assert done.returncode == FAILED and "could not be written to /dev/full" in done.stderr


@pytest.mark.parametrize("words", [["drum", "-n", "4", "-w", "100"], ["drum", "-n", "4", "-w", "100", "--json", "-"],
                                   ["doctor", "--look", "1ms"], ["serve", "pingpong", "--listen", "127.0.0.1:0"],
                                   ["model", "list"], ["--version"],
                                   *([*command, "--help"] for command in HELPFUL)],
                         ids=lambda words: " ".join(words))
def test_the_others_fail_too(words):
    code, error = to_full("stdout", *words)
    assert code == FAILED and "could not be written" in error


# Before, `peal --help >/dev/full` exited with 0.
@pytest.mark.parametrize("command", HELPFUL, ids=" ".join)
def test_help_is_of_the_command_and_done(command):
    done = peal(*command, "--help")
    assert done.returncode == 0 and done.stderr == "" and " ".join(["Usage: peal", *command]) in done.stdout


def test_a_full_stderr_changes_nothing(address):
    code, report = to_full("stderr", "load", "pingpong", address, *BRIEF, "--live", "on", "--debug")
    assert code == 0 and "messages" in report
    assert to_full("stderr", "load", "pingpong", address, "--duration", "0s")[0] == CALLED_WRONGLY
    assert to_full("stderr", "load", "pingpong", "127.0.0.1:1", "--debug")[0] == FAILED


def test_comparing_and_merging_onto_a_full_disk(address, tmp_path):
    for name in ("a", "b"):
        peal("load", "pingpong", address, *BRIEF, "--json", tmp_path / name)
    (tmp_path / "ratios").write_text('{"ratios": [{"subject": "a", "rival": "b", "restarts": [1]}]}')
    for words in (["merge", tmp_path / "a"], ["compare", tmp_path / "a", tmp_path / "b"],
                  ["judge", tmp_path / "ratios"]):
        code, error = to_full("stdout", "load", *words)
        assert code == FAILED and "could not be written to stdout" in error


def test_what_is_printed_on_a_closed_stream_goes_to_nobody(address, tmp_path):
    command = '"$0" "$@" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, PEAL, "load", "pingpong", address, *BRIEF, "--json", tmp_path / "json"],
                          timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0
    assert json.loads((tmp_path / "json").read_text())["errors"] == {}


def test_a_reader_that_leaves_ends_it(address):
    with subprocess.Popen([PEAL, "load", "pingpong", address, "--duration", "1h", "--interval", "10ms", "--ndjson",
                           "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as load:
        assert load.stdout.readline().startswith("{")
        load.stdout.close()
        assert load.wait(PATIENCE_SECONDS) != 0
