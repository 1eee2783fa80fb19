# SPDX-License-Identifier: BSD-3-Clause
"""The exit codes 1 and 2 mean the same for every command of `peal`.

2: the command line is wrong by itself, on every machine. 1: the command line was understood, but what it names is
missing, not allowed, taken or unusable. Before, a missing --root ended with 2 and a missing certificate with 1. In both
cases stderr has exactly one sentence.
"""
import contextlib
import socket
import subprocess

import pytest

from peal_program import BIN, peal

FAILED, CALLED_WRONGLY = 1, 2


@pytest.fixture(name="folder")
def a_folder(tmp_path):
    """Returns a folder. Its only file is no certificate, no report and no schedule; nothing is named `nowhere`."""
    (tmp_path / "file").write_text("nothing\n", encoding="ascii")
    return tmp_path


def call(words, folder, **more):
    """Runs `peal`, checks that stderr is one sentence, and returns the exit code."""
    words = [word.format(folder=folder, **more) for word in words]
    done = peal(*words)
    assert done.stderr.startswith("peal: ") and done.stderr.count("\n") == 1, (words, done.stderr)
    return done.returncode


SERVE = ["--listen", "127.0.0.1:0"]
URL = "http://127.0.0.1:1/"
CERTIFICATE = ["--tls-cert", "{folder}/nowhere", "--tls-key", "{folder}/nowhere"]
MODEL = ["model", "run", "blocking_single"]

# The command line names a file that is missing or unusable.
FILES = [
    ["serve", "http", *SERVE, "--root", "{folder}/nowhere"],
    ["serve", "http", *SERVE, "--root", "{folder}/file"],
    ["serve", "http", *SERVE, "--access-log", "{folder}/nowhere/log"],
    ["serve", "http", *SERVE, "--access-log", "{folder}"],
    *(["serve", kind, *SERVE, *CERTIFICATE] for kind in ("pingpong", "echo", "http")),
    ["serve", "http", *SERVE, "--workers", "2", "--root", "{folder}/nowhere"],
    ["serve", "http", *SERVE, "--workers", "2", *CERTIFICATE],
    ["serve", "http", "--listen", "unix:{folder}/nowhere/socket"],
    *(["load", "http", URL, option, f"@{file}"] for option in ("--body", "--expect-body")
      for file in ("{folder}/nowhere", "{folder}", "/dev/zero")),
    *(["load", command, "{folder}", "{folder}/file"] for command in ("merge", "compare")),
    ["load", "merge", "/dev/zero", "{folder}/file"],
    ["load", "http", "https://127.0.0.1:1/", "--tls-ca", "{folder}/nowhere"],
    ["load", "http", "https://127.0.0.1:1/", "--tls-insecure", *CERTIFICATE],
    ["load", "pingpong", "127.0.0.1:1", "--tls", "--tls-ca", "{folder}/file"],
    ["load", "pingpong", "127.0.0.1:1", "--arrivals", "file:{folder}/nowhere"],
    ["load", "pingpong", "127.0.0.1:1", "--arrivals", "file:{folder}/file"],
    *(["load", "pingpong", "127.0.0.1:1", output, "{folder}/nowhere/out"]
      for output in ("--json", "--ndjson", "--hdr", "--openmetrics")),
    ["load", "duel", "http", "a=https://127.0.0.1:1/", "--tls-ca", "{folder}/nowhere"],
    ["load", "duel", "a=127.0.0.1:1", "--json", "{folder}/nowhere/out"],
    ["load", "merge", "{folder}/nowhere", "{folder}/file"],
    ["load", "merge", "{folder}/file", "{folder}/file"],
    ["load", "compare", "{folder}/nowhere", "{folder}/file"],
    ["load", "compare", "{folder}/file", "{folder}/nowhere"],
    *(["load", "judge", file] for file in ("{folder}/nowhere", "{folder}", "/dev/zero")),
    ["load", "judge", "--json", "{folder}/nowhere/out"],
    ["drum", "-n", "4", "-w", "10", "--json", "{folder}/nowhere/out"],
    [*MODEL, "--listen", "unix:{folder}/nowhere/socket"],
    ["tls", "self-signed", "--name", "a", "--out-cert", "{folder}/nowhere/pem", "--out-key", "{folder}/nowhere/key"],
    ["tls", "self-signed", "--name", "a", "--out-cert", "{folder}/file", "--out-key", "{folder}/key"],
]

# The command line names an address that does not exist or cannot be used.
PLACES = [
    ["load", "pingpong", "name.invalid:80"],
    ["load", "http", "http://name.invalid/"],
    ["load", "duel", "a=name.invalid:80"],
    ["load", "pingpong", "unix:{folder}/nowhere"],
    ["serve", "pingpong", "--listen", "192.0.2.1:1"],
    [*MODEL, "--listen", "192.0.2.1:1"],
]

TAKEN = [
    *(["serve", kind, "--listen", "{taken}"] for kind in ("pingpong", "echo", "http")),
    ["serve", "http", "--listen", "{taken}", "--workers", "2"],
    ["serve", "http", *SERVE, "--inspect", "{taken}"],
    [*MODEL, "--listen", "{taken}"],
]

COMMANDS = [["serve", "pingpong"], ["serve", "echo"], ["serve", "http"], ["load", "pingpong", "127.0.0.1:1"],
            ["load", "echo", "127.0.0.1:1"], ["load", "http", URL], ["load", "duel", "a=127.0.0.1:1"],
            ["load", "agent"], ["load", "merge", "a", "b"], ["load", "compare", "a", "b"], ["load", "judge"], ["drum"],
            MODEL, ["model", "list"], ["doctor"], ["tls", "self-signed", "--name", "a"], ["completion", "bash"],
            ["man"]]

WRONG = [
    [], ["nothing"], ["--verison"], ["serve"], ["serve", "nothing"], ["load"], ["load", "nothing"],
    ["load", "pingpong"], ["load", "duel"], ["load", "merge"], ["load", "compare", "a"], ["model"], ["model", "run"],
    ["model", "run", "nothing"], ["tls"], ["tls", "self-signed"], ["completion"], ["completion", "tcsh"],
    *([*command, "--no-such-option"] for command in COMMANDS),
    *(["serve", kind, "--listen", place] for kind in ("pingpong", "echo", "http")
      for place in ("nowhere", "127.0.0.1:99999", "localhost:80")),
    *(["serve", kind, "--listen", "9981"] for kind in ("pingpong", "echo", "http")),
    [*MODEL, "--listen", "9981"],
    *(["load", *words, "9981"] for words in (["pingpong"], ["echo"], ["http"])),
    ["load", "duel", "a=9981"],
    [*MODEL, "--listen", "nowhere"],
    ["serve", "http", *SERVE, "--idle-timeout", "soon"],
    *(["serve", "http", *SERVE, option, number] for option in ("--body-limit", "--max-connections")
      for number in ("much", "99999999999999999999", "-1", "1e3")),
    *(["serve", "http", *SERVE, option, ""] for option in ("--requests-per-connection", "--rate-limit", "--middleware",
                                                           "--access-log", "--root", "--server-name", "--memory")),
    *(["serve", kind, *SERVE, "--memory", "1"] for kind in ("pingpong", "echo", "http")),
    ["load", "pingpong", "127.0.0.1:1", "--start-at", ""],
    ["load", "http", URL, "--expect-body", ""],
    ["serve", "http", *SERVE, "--cache-control", "no-cache"],
    ["serve", "http", *SERVE, "--cache-control", "a\nb", "--root", "{folder}"],
    *(["serve", "http", *SERVE, "--server-name", name, *more]
      for name in ("a\nb", "a\rb", "\x01", "\x7f") for more in ([], ["--workers", "2"])),
    ["serve", "http", *SERVE, "--cors", "http://a\nb"],
    *(["load", "http", URL, "--header", header] for header in ("a: b\nc", "a\nb: c", "a b: c", "a: \x01", "a")),
    ["load", "http", URL, "--method", "G\nT"],
    ["load", "http", URL + "\n"],
    ["load", "pingpong", "127.0.0.1:1", "--rate", "a\nb"],
    ["serve", "http", *SERVE, "--tls-cert", "a"],
    ["serve", "http", *SERVE, "--inspect", "nowhere"],
    ["serve", "http", *SERVE, "--engine", "steam"],
    ["load", "pingpong", "nowhere"],
    ["load", "pingpong", "127.0.0.1:1", "--duration", "10"],
    ["load", "pingpong", "127.0.0.1:1", "--arrivals", "sometimes"],
    ["load", "pingpong", "127.0.0.1:1", "--arrivals", "file:{folder}/file", "--rate", "5/s"],
    ["load", "http", "127.0.0.1:80"],
    ["load", "http", "https://127.0.0.1:1/", "--tls-cert", "a"],
    ["load", "duel", "a=nowhere"],
    ["load", "agent", "--silence", "never"],
    ["load", "compare", "{folder}/file", "{folder}/file"],
    ["load", "judge", "{folder}/file"],
    ["drum", "-n", "0"],
    [*MODEL, "--work", "much"],
    ["doctor", "--look", "long"],
    ["tls", "self-signed", "--name", "a", "--days", "0"],
    ["tls", "self-signed", "--name", "a b"],
]


@pytest.mark.parametrize("words", FILES + PLACES, ids=" ".join)
def test_what_is_named_and_is_not_there_is_a_failure(folder, words):
    assert call(words, folder) == FAILED


@pytest.mark.parametrize("words", TAKEN, ids=" ".join)
def test_a_port_that_is_taken_is_a_failure(folder, words):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as other:
        assert call(words, folder, taken=f"127.0.0.1:{other.getsockname()[1]}") == FAILED


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_words_that_are_wrong_on_every_machine_are_a_wrong_call(folder, words):
    assert call(words, folder) == CALLED_WRONGLY


def test_peal_model_called_by_its_own_name_takes_the_words_of_peal_model():
    named = subprocess.run([BIN / "peal-model", "run", "nothing"], capture_output=True, text=True, check=False)
    through_peal = peal("model", "run", "nothing")
    assert (named.returncode, named.stderr) == (through_peal.returncode, through_peal.stderr)
    assert named.returncode == CALLED_WRONGLY and named.stderr.startswith("peal: peal model run has no command")
