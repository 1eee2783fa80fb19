# SPDX-License-Identifier: BSD-3-Clause
"""Tests of `peal load duel` with servers on another machine.

The other machine is a network namespace behind a pair of virtual interfaces. A command that opens a shell there takes
the place of ssh. However a duel ends, it must leave no process in the namespace.
"""

import json
import os
import select
import subprocess
import time
from pathlib import Path

import pytest

from versus import cli
from versus.run.namespaces import CannotMake, Namespace

BIN_DIR = Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")).absolute()
PEAL = str(BIN_DIR / "peal")
SERVER = f"{PEAL} serve pingpong --engine epoll --listen {{listen}}"
# The time limit of each wait. A program that takes longer counts as hanging. No other result depends on time.
PATIENCE_S = 300
ONCE = ["--rounds", "1", "--restarts", "1", "--budget", "10m"]
BRIEF = ["--slice", "5ms", *ONCE]
ENDLESS = ["--slice", "5ms", "--rounds", "50", "--restarts", "1000", "--budget", "10h", "--live", "on"]


@pytest.fixture(name="there")
def make_there():
    try:
        with Namespace() as there:
            yield there
    except CannotMake as error:
        pytest.skip(str(error))


def words_for(there, *more):
    return [PEAL, "load", "duel", "--server-host", "box2", "--remote-shell", there.shell, "--run", f"a={SERVER}",
            "--connections", "5", "--engine", "epoll", *more]


def duel(there, *more):
    return subprocess.run(words_for(there, *more), capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def processes_in(there):
    return subprocess.run(["ip", "netns", "pids", there.name], capture_output=True, text=True,
                          check=True).stdout.split()


def soon(happens):
    until = time.monotonic() + PATIENCE_S
    while not happens():
        if time.monotonic() > until:
            return False
    return True


def all_end(there):
    """Returns whether all processes in the namespace end within PATIENCE_S."""
    return soon(lambda: not processes_in(there))


class Playing:
    """A duel that does not end by itself. The constructor waits until its first restart has begun."""

    def __init__(self, there):
        self.child = subprocess.Popen(words_for(there, *ENDLESS), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._seen = b""
        self._read_until(lambda: b"restart 1" in self._seen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.child.stderr.close()

    def _read_until(self, done):
        pipe, until = self.child.stderr.fileno(), time.monotonic() + PATIENCE_S
        while not done():
            ready, _, _ = select.select([pipe], [], [], until - time.monotonic())
            piece = os.read(pipe, 65536) if ready else b""
            assert piece, self._seen
            self._seen += piece

    def complaint(self):
        """Returns the exit code and the last line on stderr."""
        for piece in iter(lambda: os.read(self.child.stderr.fileno(), 65536), b""):
            self._seen += piece
        return self.child.wait(PATIENCE_S), self._seen.decode().splitlines()[-1]


def test_a_duel_across_the_network(there):
    ran = duel(there, "--run", f"b={SERVER}", "--json", "-", *BRIEF)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["server_host"]["address"] == there.far, "the shell reports the address at which the machine is reached"
    assert all(each["server_cpu_ns"] > 0 and each["messages"] > 0 for each in found["contenders"])
    assert f"servers on box2 ({there.far}, Linux" in ran.stderr
    assert not processes_in(there)


def test_a_link_carries_no_more_than_its_speed():
    try:
        with Namespace(mbit=40) as there:
            ran = duel(there, "--json", "-", "--size", "16384", "--slice", "300ms", *ONCE)
    except CannotMake as error:
        pytest.skip(str(error))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["contenders"][0]["messages_per_s"] * 16384 * 8 < 40e6 * 1.1


def test_http_across_the_network(there):
    server = f"{PEAL} serve http --engine epoll --listen {{listen}}"
    words = [PEAL, "load", "duel", "http", "--server-host", "box2", "--remote-shell", there.shell, "--server-address",
             there.far, "--run", f"a={server}", "--path", "/", *BRIEF]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_address_that_is_not_there(there):
    ran = duel(there, "--server-address", there.near, *BRIEF)
    assert ran.returncode == 1
    why = f"a server cannot listen at {there.near} on this machine: Cannot assign requested address"
    assert ran.stderr == f"peal: a: {why}\n"
    assert not processes_in(there)


def test_killed_it_leaves_no_server_there(there):
    with Playing(there) as playing:
        assert soon(lambda: len(processes_in(there)) >= 3), "an agent and two servers must run there"
        playing.child.kill()
        assert all_end(there)


def test_the_agent_dies(there):
    with Playing(there) as playing:
        agent = next(pid for pid in processes_in(there)
                     if b"agent" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))
        os.kill(int(agent), 9)
        code, last = playing.complaint()
    assert code == 1 and "box2: the agent, or the way to it, is gone: " in last
    assert all_end(there)


def test_nothing_gets_through_any_more(there):
    with Playing(there) as playing:
        there.cut()
        code, last = playing.complaint()
    assert code == 1 and "not every " in last
    assert all_end(there)


def test_the_namespace_goes_with_who_made_it():
    try:
        there = Namespace()
        there.__enter__()
    except CannotMake as error:
        pytest.skip(str(error))
    there.__exit__()
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    assert there.name not in names.split() and there.near_link not in links and not Path(there.shell).exists()


def test_the_quick_lab_across_the_network(there, tmp_path):
    # The experiment 64Bx1 starts its servers at most eight times, and each time only briefly. The budget of 600 s is
    # enough on a busy machine, too.
    words = ["quick", "--bin", str(BIN_DIR), "--out", str(tmp_path), "--seed", "3", "--only", "peal-epoll",
             "--server-host", "box2", "--remote-shell", there.shell, "--experiments", "64Bx1,drum", "--budget", "600"]
    assert cli.main(words) == cli.DONE
    results = json.loads((tmp_path / "results.json").read_text())
    assert [cell["name"] for cell in results["cells"]] == ["64Bx1"] and results["drum"] is None
    assert there.far in results["two_machines"] and "under another address" in results["two_machines"]
    assert "Kernel of box2" in (tmp_path / "report.html").read_text()
