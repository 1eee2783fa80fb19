# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve --workers`: reloads, replacements and killed workers under continuous load.

A reload and a replacement of the program lose nothing. A worker that is killed loses only what it had in flight.
"""
import contextlib
import json
import os
import signal
import subprocess
import threading

import pytest

from peal_program import peal
from programs import PATIENCE_SECONDS, Lines, wait_until
from worker_service import PEAL, Service, ask_at

CONNECTIONS = 8
INTERRUPTED = 130


# Each kind has a service and the options of `peal load` for it. `pingpong` cannot tell its clients to leave, so they
# must end their connections themselves. The clients of HTTP are told, so they may stay for ever.
KINDS = {
    "pingpong": ["pingpong", "--requests-per-connection", "1-20"],
    "http": ["http"],
    "http, coming and going": ["http", "--requests-per-connection", "1-20"],
    "http, pipelined": ["http", "--pipeline", "4"],
}


@contextlib.contextmanager
def load(address, tmp_path, kind="pingpong"):
    """Runs `peal load` as long as the block. The dictionary has the report after the block."""
    report = {}
    path = tmp_path / "report.json"
    protocol, *words = KINDS[kind]
    target = address if protocol == "pingpong" else f"http://{address}/collect?v=1"
    run = subprocess.Popen([PEAL, "load", protocol, target, "--connections", str(CONNECTIONS), "--duration", "1h",
                            "--warmup", "0s", "--interval", "20ms", "--ndjson", "-", "--json", path, "--grace", "20s",
                            *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = Lines(run.stdout)
    lines.next()  # the load has begun
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(run.stdout.fileno(), 65536), b"")])
    drain.start()
    try:
        yield report
    finally:
        run.send_signal(signal.SIGINT)
        error = run.stderr.read().decode()
        run.wait(PATIENCE_SECONDS)
        drain.join()
        run.stdout.close()
        run.stderr.close()
    assert run.returncode == INTERRUPTED, error
    report.update(json.loads(path.read_text()))


def serve(kind="pingpong", *words, **options):
    return Service(KINDS[kind][0], "--workers", "2", "--listen", "127.0.0.1:0", "--drain", "30s", *words, **options)


def expect_nothing_lost(report):
    assert report["errors"] == {} and report["first_errors"] == {}
    assert report["came_back"] and report["lifetime"]["wrong"] == 0
    assert report["lifetime"]["messages"] > 0 and report["lifetime"]["connects"] > CONNECTIONS


def runs_io_uring():
    return peal("drum", "-n", "2", "-a", "1", "-w", "1", "--engine", "io_uring").returncode == 0


every_kind = pytest.mark.parametrize("kind", KINDS)
every_engine = pytest.mark.parametrize(
    "engine", ["epoll", pytest.param("io_uring", marks=pytest.mark.skipif(not runs_io_uring(), reason="forbidden"))])


@every_kind
@every_engine
def test_reloading_under_load_loses_nothing(tmp_path, kind, engine):
    with serve(kind, "--engine", engine) as service:
        with load(service.address(), tmp_path, kind) as report:
            for _ in range(3):
                before = service.workers()
                service.reload()
                assert len(service.workers()) == 2 and not set(before) & set(service.workers())
        expect_nothing_lost(report)
        assert service.ends_well()


@every_kind
@every_engine
def test_replacing_the_program_under_load_loses_nothing(tmp_path, kind, engine):
    with serve(kind, "--engine", engine) as service:
        address = service.address()
        with load(address, tmp_path, kind) as report:
            for _ in range(2):
                assert service.replace() == address
                assert len(service.workers()) == 2
        expect_nothing_lost(report)
        assert service.process.wait(PATIENCE_SECONDS) == 0
        service.end()


def test_a_killed_worker_loses_what_it_had_in_flight_and_nothing_else(tmp_path):
    with serve() as service:
        with load(service.address(), tmp_path) as report:
            victim = service.workers()[0]
            os.kill(victim, signal.SIGKILL)
            service.log.until(f"(process {victim}) was ended by SIGKILL; the next starts in 0 ms")
            wait_until(lambda: len(service.workers()) == 2 and victim not in service.workers())
            service.reload()  # everything still works
        lost = sum(report["errors"].values())
        # Each connection had one message in flight. Refused clients would be more errors, and of another kind.
        assert lost <= CONNECTIONS and set(report["errors"]) <= {"reset", "closed_by_server"}, report
        assert report["lifetime"]["wrong"] == 0


def test_a_program_that_cannot_start_leaves_the_old_one_serving(tmp_path):
    program = tmp_path / "peal"
    program.symlink_to(PEAL)
    with serve(program=program) as service:
        address = service.address()
        with load(address, tmp_path) as report:
            workers = service.workers()
            for broken in ("/bin/false", tmp_path / "nowhere"):
                program.unlink()
                program.symlink_to(broken)
                service.tell(signal.SIGUSR2)
                service.log.until("not replaced: this master continues")
                assert service.workers() == workers
            program.unlink()
            program.symlink_to(PEAL)
            assert service.replace() == address
        expect_nothing_lost(report)


def test_a_killed_master_leaves_nobody():
    with serve() as service:
        service.address()
        assert len(service.workers()) == 2
        service.tell(signal.SIGKILL)
        wait_until(lambda: service.session() == [])


def test_a_port_that_is_taken_is_said_in_one_sentence():
    with serve() as service:
        address = service.address()
        done = peal("serve", "pingpong", "--workers", "2", "--listen", address)
        assert done.returncode == 1 and done.stdout == "" and f"{address} is taken" in done.stderr


def test_a_unix_socket_is_handed_over_with_its_file(tmp_path):
    path, program = tmp_path / "socket", tmp_path / "peal"
    program.symlink_to(PEAL)
    with Service("pingpong", "--workers", "2", "--listen", f"unix:{path}", program=program) as service:
        assert service.address() == f"unix:{path}"
        for _ in range(2):
            assert service.replace() == f"unix:{path}"
            assert ask_at(path) == b"hello"
        # A successor that cannot print its address ends before it takes over. It must not remove the socket's file.
        program.unlink()
        program.write_text(f'#!/bin/sh\nexec {PEAL} "$@" >/dev/full\n')
        program.chmod(0o755)
        service.tell(signal.SIGUSR2)
        service.log.until("not replaced: this master continues")
        assert ask_at(path) == b"hello"
        service.end()
    assert not path.exists()
