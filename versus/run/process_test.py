# SPDX-License-Identifier: BSD-3-Clause
"""Child processes start, are pinned and are gone afterwards. The lockstep client counts exactly, and the tables of
strace and callgrind are read."""

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from versus import fakes, lockstep, roster, traces
from versus.built_programs import BIN_DIR
from versus.run import counters, process
from versus.bars import http_instructions, instructions
from versus.bars.common import CannotMeasure

SUMMARY = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.001234           1      2000        12 recvfrom
 30.00    0.000600           1      2000           sendto
 10.00    0.000100           1        10           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.001934           1      4010        12 total
"""


@pytest.fixture
def server(tmp_path):
    contender = roster.built_in(fakes.make_bin(tmp_path / "bin"))[0]
    with process.serving(contender.for_threads(1)) as running:
        yield running


def test_a_server_is_gone_when_its_block_ends(tmp_path):
    contender = roster.built_in(fakes.make_bin(tmp_path / "bin"))[0]
    with process.serving(contender.for_threads(1)) as running:
        pid = running.pid
    assert running.child.returncode == 0 and not os.path.exists(f"/proc/{pid}")


def test_no_other_harness_gets_a_port_while_it_is_held(monkeypatch):
    with process.own_port("127.0.0.1") as one:
        monkeypatch.setattr(process, "_next_port", [one])  # as in another process that starts with the same port
        with process.own_port("127.0.0.1") as other:
            assert other != one


def test_lockstep_counts_and_checks(server):
    with lockstep.connected(server.host, server.port, 1) as connections:
        assert lockstep.rounds(connections, 1000, 3) == 3


def test_a_server_that_echoes_other_bytes_is_noticed(tmp_path):
    liar = fakes.write_program(tmp_path / "liar",
                               fakes.SERVER.replace("peer.sendall(data)", "peer.sendall(b'x' * len(data))"))
    with process.serving(lambda host, port: [str(liar), "--listen", f"{host}:{port}"]) as running:
        with lockstep.connected(running.host, running.port, 1) as connections:
            with pytest.raises(lockstep.EchoDiffers):
                lockstep.rounds(connections, 64, 1)


def test_a_silent_server_is_found_by_knocking(tmp_path):
    silent = fakes.write_program(tmp_path / "silent",
                                 fakes.SERVER.replace('print("listening', '0 and print("listening'))
    with process.serving(lambda host, port: [str(silent), "--listen", f"{host}:{port}"], knock=True) as running:
        assert running.child.poll() is None


@pytest.mark.parametrize("words, why", [(["/bin/false"], "exit code 1"), (["/nowhere/at/all"], "No such file")])
def test_a_server_that_does_not_start_says_why(words, why):
    with pytest.raises(process.StartFailed, match=why):
        with process.serving(lambda host, port: words):
            pass


def test_a_program_that_takes_too_long_is_ended():
    outcome = process.run(["/bin/sleep", "60"], limit_s=0.05)
    assert outcome.code is None


def test_a_program_that_prints_endlessly_is_ended():
    outcome = process.run(["yes"], limit_s=60.0, most_bytes=1 << 20)
    assert outcome.code == -signal.SIGXFSZ and len(outcome.out) <= 1 << 20


def test_the_output_and_the_error_line_of_a_program_are_kept():
    outcome = process.run([sys.executable, "-c", "import sys; print('out'); sys.exit('no')"])
    assert (outcome.code, outcome.out, outcome.complaint) == (1, "out\n", "no")


def test_a_child_is_pinned_and_the_parent_is_not():
    mine = os.sched_getaffinity(0)
    one = (min(mine),)
    outcome = process.run([sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"], one)
    assert outcome.out.strip() == str(list(one)) and os.sched_getaffinity(0) == mine


def test_the_memory_of_a_process_is_read(server):
    assert counters.process_rss_bytes(server.pid) > 1 << 20


def test_foreign_load_does_not_include_our_own_children():
    before = counters.sample()
    process.run([sys.executable, "-c", "pass"])
    after = counters.sample()
    assert after.own_s > before.own_s
    assert counters.between(before, after).foreign_s >= 0.0


def test_the_table_of_strace_is_read():
    assert traces.parse_summary(SUMMARY) == {"recvfrom": 2000, "sendto": 2000, "epoll_wait": 10}
    assert traces.parse_summary("") == {}


def test_the_total_of_callgrind_is_read():
    assert instructions.parse_total("version: 1\nsummary: 1234\nfn=x\ntotals: 1234\n") == 1234
    with pytest.raises(CannotMeasure):
        instructions.parse_total("version: 1\n")


def test_if_a_contender_executes_another_program_that_program_is_counted(monkeypatch):
    ready, absent = roster.choose(BIN_DIR, [], ["http-nginx"], roster.HTTP)
    if absent or not shutil.which("valgrind"):
        pytest.skip(absent[0] if absent else "valgrind is not installed")
    monkeypatch.setattr(instructions, "FEW", 20)
    monkeypatch.setattr(instructions, "MANY", 60)
    assert 1_000 < http_instructions.per_get(ready[0]) < 100_000  # 0: its worker's instructions would be missing


SPAWNS = """
import signal, sys
sys.path[:0] = [sys.argv[1]]
from versus.run import process
child = process.spawn(["sleep", "1000"], end_by=signal.SIGTERM if sys.argv[2] == "runs" else signal.SIGKILL)
if sys.argv[2] == "is stopped":
    child.send_signal(signal.SIGSTOP)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("state", ["runs", "is stopped"])
def test_a_child_ends_when_its_harness_is_killed(state):
    root = str(Path(__file__).parent.parent.parent)
    harness = subprocess.Popen([sys.executable, "-c", SPAWNS, root, state], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        pid = int(harness.stdout.readline())
        watched = os.pidfd_open(pid)
    finally:
        harness.kill()
        harness.communicate()
    try:
        assert select.select([watched], [], [], 60.0)[0]  # a pidfd is readable when the process has ended
    finally:
        os.close(watched)


TELLS = """
import os, sys, time
for line in ("one", "two", "no port"):
    print(line, file=sys.stderr, flush=True)
print("torn", end="", file=sys.stderr, flush=True)
if sys.argv[1] == "closes":
    os.close(2)
sys.exit(3)
"""


@pytest.mark.parametrize("how", ["ends", "closes"])
def test_each_line_is_passed_on_and_what_is_no_progress_is_a_complaint(how):
    told = []

    def on_line(line: str) -> bool:
        told.append(line)
        return line != "no port"

    outcome = process.run([sys.executable, "-c", TELLS, how], on_line=on_line)
    assert told == ["one", "two", "no port"]
    assert outcome.code == 3 and outcome.complaint == "no port"


def test_an_interrupt_while_lines_are_passed_on_ends_the_program():
    pids = []

    def on_line(line: str) -> bool:
        pids.append(int(line))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.run(["sh", "-c", "echo $$ >&2; exec sleep 1000"], on_line=on_line)
    assert not os.path.exists(f"/proc/{pids[0]}")


def test_a_program_that_writes_lines_for_too_long_is_ended():
    outcome = process.run(["sh", "-c", "echo one >&2; exec sleep 1000"], limit_s=0.2, on_line=lambda line: True)
    assert outcome.code is None and outcome.complaint == ""
