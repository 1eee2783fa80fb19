# SPDX-License-Identifier: BSD-3-Clause
"""`peal load` against servers that other people wrote, against `peal serve`, and through scripts/fleet.

It drives them in different ways. No run may have an error.
"""
import json
import pathlib
import subprocess
import threading

import pytest

from peal_program import BIN, PATIENCE_SECONDS, PEAL, listening, peal
from programs import QuietHandler, http_server

FLEET = pathlib.Path(__file__).parents[2] / "scripts/fleet"
BRIEF = ["--warmup", "10ms", "--connections", "4"]
DURATIONS = ["100ms", "1s", "10s"]  # the longer ones are for a machine that is too busy for enough messages
HTTP_SERVERS = ["http_nginx", "http_libevent", "http_python"]
HTTP_WAYS = {
    "kept alive": [],
    "at a rate": ["--rate", "500/s", "--timeout", "30s"],
    "one request a connection": ["--requests-per-connection", "1"],
    "some requests a connection, then a reset": ["--requests-per-connection", "2-5", "--close", "rst"],
    "pipelined": ["--pipeline", "8", "--expect-body", "Hello, World!"],
    "pipelined, on connections that end": ["--pipeline", "8", "--requests-per-connection", "20"],
    "without a body": ["--method", "HEAD", "--expect-length", "0"],
}
ECHO_WAYS = {
    "no body": ["--size", "0"],
    "64 bytes": ["--size", "64"],
    "a MiB": ["--size", "1MiB"],
    "pipelined": ["--pipeline", "8"],
    "at a rate": ["--rate", "500/s", "--pipeline", "8"],
    "one message a connection": ["--requests-per-connection", "1"],
    "connections that end with a reset": ["--requests-per-connection", "1-3", "--close", "rst"],
    "idle ones beside": ["--idle-connections", "20"],
}


@pytest.fixture(name="http_address", params=HTTP_SERVERS, scope="module")
def fixture_http_address(request):
    with listening(BIN / "contenders" / request.param) as (_, address):
        yield address


@pytest.fixture(name="echo_address", params=["callbacks", "coroutines"], scope="module")
def fixture_echo_address(request):
    with listening(PEAL, "serve", "echo", "--style", request.param) as (_, address):
        yield address


def some(report):
    return report["messages"] > 0


def load(*words, enough=some, durations=tuple(DURATIONS)):
    """Returns the report of a run without errors. A failed gate is allowed only if it shows a busy machine."""
    for duration in durations:
        run = peal("load", *words, *BRIEF, "--duration", duration, "--json", "-")
        assert run.stdout, run.stderr
        report = json.loads(run.stdout)
        if enough(report):
            break
    invalid = [gate for gate in report["gates"] if gate["verdict"] == "INVALID"]
    # On a busy machine, a rate may not be achieved. No other gate may fail.
    assert [gate for gate in invalid if gate["name"] != "achieved"] == [], run.stderr
    assert run.returncode == (3 if invalid else 0)
    assert report["errors"] == {} and report["first_errors"] == {}
    assert report["came_back"]
    assert report["messages"] == report["latency_ns"]["count"] > 0
    assert report["lifetime"]["wrong"] == 0
    return report


@pytest.mark.parametrize("way", HTTP_WAYS)
def test_http_servers_are_driven_without_an_error(http_address, way):
    connections_end = "--requests-per-connection" in HTTP_WAYS[way]
    report = load("http", f"http://{http_address}/collect?v=1", *HTTP_WAYS[way],
                  enough=lambda report: some(report) and (report["lifetime"]["connects"] > 4 or not connections_end))
    if connections_end:
        assert report["lifetime"]["connects"] > 4
    elif "--pipeline" not in HTTP_WAYS[way]:
        assert report["lifetime"]["connects"] == 4


def test_a_status_that_was_asked_for_is_no_error(http_address):
    load("http", f"http://{http_address}/nothing", "--expect-status", "404")


class Counting(QuietHandler):
    """Counts the requests that it answers."""
    disable_nagle_algorithm = True

    def do_GET(self):
        with self.server.lock:
            self.server.answered += 1
        self.answer(200, b"hello")


@pytest.mark.parametrize("words", [[], ["--pipeline", "4"], ["--requests-per-connection", "1"], ["--rate", "300/s"]],
                         ids=lambda words: " ".join(words) or "kept alive")
def test_the_client_counts_as_many_answers_as_the_server_gave(words):
    with http_server(Counting) as server:
        server.lock, server.answered = threading.Lock(), 0
        report = load("http", f"http://127.0.0.1:{server.server_port}/", *words, durations=["1s"])
    assert report["lifetime"]["messages"] == server.answered


@pytest.mark.parametrize("way", ECHO_WAYS)
def test_frames_come_back_whole(echo_address, way):
    report = load("echo", echo_address, *ECHO_WAYS[way])
    assert report["lifetime"]["bytes_sent"] == report["lifetime"]["bytes_received"]
    if "--idle-connections" in ECHO_WAYS[way]:
        assert report["connections"]["idle_open"] == 20


def test_a_fleet_of_the_real_program_is_merged(tmp_path):
    with listening(PEAL, "serve", "pingpong") as (_, address):
        run = subprocess.run([FLEET, "--out", tmp_path, "--delay", "1s", "--local-peal", PEAL, "local", "local", "--",
                              "load", "pingpong", address, *BRIEF, "--duration", "1s"],
                             capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert run.returncode == 0, run.stderr
    parts = [json.loads((tmp_path / name).read_text()) for name in ("local.json", "local-2.json")]
    merged = json.loads((tmp_path / "merged.json").read_text())
    assert merged["messages"] == sum(part["messages"] for part in parts) > 0
    assert merged["connections"]["open"] == 8
    assert len(merged["merged"]) == 2
