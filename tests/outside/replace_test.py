# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve --workers`: under continuous load a reload and a replacement of the program lose nothing, and a worker
that is killed loses what it had in flight; and the service manager's side of it, played by the test."""
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

PEAL = (pathlib.Path(os.environ.get("PEAL_BIN_DIR", "build/dev/bin")) / "peal").absolute()
PATIENCE_SECONDS = 60
CONNECTIONS = 8


class Lines:
    """What comes out of a pipe, by line."""

    def __init__(self, pipe):
        self._pipe = pipe
        self._rest = b""
        self.seen = []

    def next(self):
        give_up = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._pipe], [], [], max(give_up - time.monotonic(), 0))
            data = os.read(self._pipe.fileno(), 65536) if ready else b""
            assert data, f"no line, but {self._rest!r} after {self.seen}"
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        self.seen.append(line.decode())
        return self.seen[-1]

    def until(self, part):
        while part not in (line := self.next()):
            pass
        return line


class Service:
    """`peal serve` with workers, in a session of its own; whoever succeeds the first master is in it, too."""

    def __init__(self, *words, program=PEAL, prefix=(), **options):
        command = [*prefix, program, "serve", *words]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True, **options)
        self.output, self.log = Lines(self.process.stdout), Lines(self.process.stderr)
        self.master = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()

    def address(self):
        return self.output.until("listening on ").removeprefix("listening on ")

    def tell(self, number):
        os.kill(self.master, number)

    def session(self):
        """Its processes that live."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(entry.name) and int(fields[3]) == self.process.pid and fields[0] not in "ZX":
                    found.append(int(entry.name))
        return found

    def workers(self):
        return [int(pid) for pid in
                pathlib.Path(f"/proc/{self.master}/task/{self.master}/children").read_text().split()]

    def reload(self):
        self.tell(signal.SIGHUP)
        self.log.until("reloaded: ")
        self.log.until("the workers that made room are gone")

    def replace(self):
        """The new master takes this one's place, which ends."""
        old = self.master
        self.tell(signal.SIGUSR2)
        self.master = int(self.log.until(" is to replace this one").split("process ")[1].split()[0])
        address = self.address()
        self.log.until("replaced by process")
        until(lambda: old not in self.session())
        return address


def until(happened):
    """There is nothing to wait on: looks again and again."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < give_up
        os.sched_yield()


# What is served, and how it is asked. `pingpong` cannot tell its clients to leave: they must come and go. HTTP's are
# told, and may stay for ever.
KINDS = {
    "pingpong": ["pingpong", "--requests-per-connection", "1-20"],
    "http": ["http"],
    "http, coming and going": ["http", "--requests-per-connection", "1-20"],
    "http, pipelined": ["http", "--pipeline", "4"],
}


@contextlib.contextmanager
def load(address, tmp_path, kind="pingpong"):
    """Runs while the block does; the dictionary is the report afterwards."""
    report = {}
    path = tmp_path / "report.json"
    protocol, *words = KINDS[kind]
    target = address if protocol == "pingpong" else f"http://{address}/collect?v=1"
    run = subprocess.Popen([PEAL, "load", protocol, target, "--connections", str(CONNECTIONS), "--duration", "1h",
                            "--warmup", "0s", "--interval", "20ms", "--ndjson", "-", "--json", path, "--grace", "20s",
                            *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = Lines(run.stdout)
    lines.next()  # it is under way
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
    assert run.returncode in (0, 3), error
    report.update(json.loads(path.read_text()))


def serve(kind="pingpong", *words, **options):
    return Service(KINDS[kind][0], "--workers", "2", "--listen", "127.0.0.1:0", "--drain", "30s", *words, **options)


def expect_nothing_lost(report):
    assert report["errors"] == {} and report["first_errors"] == {}
    assert report["came_back"] and report["lifetime"]["wrong"] == 0
    assert report["lifetime"]["messages"] > 0 and report["lifetime"]["connects"] > CONNECTIONS


every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
@pytest.mark.parametrize("engine", ["epoll", "auto"])
def test_reloading_under_load_loses_nothing(tmp_path, kind, engine):
    with serve(kind, "--engine", engine) as service:
        with load(service.address(), tmp_path, kind) as report:
            for _ in range(3):
                before = service.workers()
                service.reload()
                assert len(service.workers()) == 2 and not set(before) & set(service.workers())
        expect_nothing_lost(report)
        service.tell(signal.SIGTERM)
        assert service.process.wait(PATIENCE_SECONDS) == 0


@every_kind
@pytest.mark.parametrize("engine", ["epoll", "auto"])
def test_replacing_the_program_under_load_loses_nothing(tmp_path, kind, engine):
    with serve(kind, "--engine", engine) as service:
        address = service.address()
        with load(address, tmp_path, kind) as report:
            for _ in range(2):
                assert service.replace() == address
                assert len(service.workers()) == 2
        expect_nothing_lost(report)
        assert service.process.wait(PATIENCE_SECONDS) == 0
        service.tell(signal.SIGTERM)
        until(lambda: service.session() == [])


def test_a_killed_worker_loses_what_it_had_in_flight_and_nothing_else(tmp_path):
    with serve() as service:
        with load(service.address(), tmp_path) as report:
            victim = service.workers()[0]
            os.kill(victim, signal.SIGKILL)
            service.log.until(f"(process {victim}) was ended by SIGKILL; the next starts in 0 ms")
            until(lambda: len(service.workers()) == 2 and victim not in service.workers())
            service.reload()  # and everything still works
        lost = sum(report["errors"].values())
        # Each connection had one message in flight. Nobody was refused: they would be more, and of another kind.
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
                service.log.until("not replaced: the old one goes on")
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
        until(lambda: service.session() == [])


def test_a_port_that_is_taken_is_said_in_one_sentence():
    with serve() as service:
        address = service.address()
        done = subprocess.run([PEAL, "serve", "pingpong", "--workers", "2", "--listen", address], capture_output=True,
                              text=True, timeout=PATIENCE_SECONDS, check=False)
        assert done.returncode == 1 and done.stdout == "" and f"{address} is taken" in done.stderr


def ask(address, words=b"hello"):
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as peer:
        peer.sendall(words)
        return peer.recv(len(words), socket.MSG_WAITALL)


def ask_at(path, words=b"hello"):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE_SECONDS)
        peer.connect(str(path))
        peer.sendall(words)
        return peer.recv(len(words), socket.MSG_WAITALL)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_sockets_of_a_service_manager_are_served(workers):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        fd = listening.fileno()
        start = f'exec 3<&{fd}; LISTEN_FDS=1 LISTEN_FDNAMES=web LISTEN_PID=$$ exec "$0" "$@"'
        with Service("pingpong", "--workers", workers, "--listen", "127.0.0.1:1", prefix=["bash", "-c", start],
                     pass_fds=[fd]) as service:
            assert service.address() == f"127.0.0.1:{port}"
            assert ask(f"127.0.0.1:{port}") == b"hello"
            if workers != "0":
                assert service.replace() == f"127.0.0.1:{port}"
                assert ask(f"127.0.0.1:{port}") == b"hello"
            service.tell(signal.SIGTERM)
            until(lambda: service.session() == [])


def test_workers_serve_all_addresses_of_a_service_manager():
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        fds = [one.fileno(), other.fileno()]
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other)]
        start = f'exec 3<&{fds[0]} 4<&{fds[1]}; LISTEN_FDS=2 LISTEN_FDNAMES=web:web LISTEN_PID=$$ exec "$0" "$@"'
        with Service("pingpong", "--workers", "2", "--listen", "127.0.0.1:1", prefix=["bash", "-c", start],
                     pass_fds=fds) as service:
            for ask_after in (service.address, service.replace):
                assert ask_after() == addresses[0]
                assert [ask(address) for address in addresses] == [b"hello", b"hello"]


def test_a_unix_socket_is_handed_over_with_its_file(tmp_path):
    path, program = tmp_path / "socket", tmp_path / "peal"
    program.symlink_to(PEAL)
    with Service("pingpong", "--workers", "2", "--listen", f"unix:{path}", program=program) as service:
        assert service.address() == f"unix:{path}"
        for _ in range(2):
            assert service.replace() == f"unix:{path}"
            assert ask_at(path) == b"hello"
        # One that cannot say where it serves ends before it takes over, and leaves the file where it is.
        program.unlink()
        program.write_text(f'#!/bin/sh\nexec {PEAL} "$@" >/dev/full\n')
        program.chmod(0o755)
        service.tell(signal.SIGUSR2)
        service.log.until("not replaced: the old one goes on")
        assert ask_at(path) == b"hello"
        service.tell(signal.SIGTERM)
        until(lambda: service.session() == [])
    assert not path.exists()


def test_a_socket_file_of_a_service_manager_stays(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        start = f'exec 3<&{listening.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"'
        with Service("pingpong", "--workers", "2", "--listen", "127.0.0.1:1", prefix=["bash", "-c", start],
                     pass_fds=[listening.fileno()]) as service:
            assert service.address() == service.replace() == f"unix:{path}"
            service.tell(signal.SIGTERM)
            until(lambda: service.session() == [])
        assert path.exists()


class Manager:
    """What systemd would hear."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(PATIENCE_SECONDS)
        self.environment = {**os.environ, "NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "100000"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def until(self, *heads):
        """The next messages that begin so, in this order; others may come between."""
        found = []
        for head in heads:
            while not (told := self.socket.recv(4096).decode()).startswith(head):
                pass
            found.append(told)
        return found


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_service_manager_hears_what_the_service_does(tmp_path, workers):
    with Manager(tmp_path / "notify") as manager:
        with Service("pingpong", "--workers", workers, "--listen", "127.0.0.1:0", env=manager.environment) as service:
            service.address()
            manager.until("READY=1")
            manager.until("WATCHDOG=1", "WATCHDOG=1")
            if workers != "0":
                before = time.monotonic_ns() // 1000
                service.tell(signal.SIGHUP)
                told = manager.until("RELOADING=1", "READY=1")[0].splitlines()
                assert before <= int(told[1].removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000
                service.log.until("the workers that made room are gone")
                service.tell(signal.SIGUSR2)
                new = int(service.log.until(" is to replace this one").split("process ")[1].split()[0])
                assert manager.until("MAINPID=")[0].startswith(f"MAINPID={new}\nREADY=1\n")
                service.master = new
                service.log.until("replaced by process")
                manager.until("WATCHDOG=1")
            service.tell(signal.SIGTERM)
            manager.until("STOPPING=1")
            until(lambda: service.session() == [])


def test_a_reload_while_a_successor_starts_is_refused_and_the_manager_told(tmp_path):
    program, gate = tmp_path / "peal", tmp_path / "gate"
    program.symlink_to(PEAL)
    os.mkfifo(gate)
    with Manager(tmp_path / "notify") as manager:
        with Service("pingpong", "--workers", "2", "--listen", "127.0.0.1:0", program=program,
                     env=manager.environment) as service:
            address = service.address()
            program.unlink()
            program.write_text(f'#!/bin/sh\nread -r _ < {gate}\nexec {PEAL} "$@"\n')
            program.chmod(0o755)
            service.tell(signal.SIGUSR2)
            new = int(service.log.until(" is to replace this one").split("process ")[1].split()[0])
            service.tell(signal.SIGHUP)
            service.log.until(f"not reloaded: process {new} is about to replace this one")
            manager.until("RELOADING=1", "READY=1\nSTATUS=not reloaded")
            gate.write_text("go\n")
            assert manager.until("MAINPID=")[0].startswith(f"MAINPID={new}\nREADY=1\n")
            service.log.until("replaced by process")
            assert ask(address) == b"hello"


def test_a_reload_and_a_replacement_asked_for_at_once_are_both_done():
    with serve() as service:
        address = service.address()
        service.tell(signal.SIGSTOP)
        os.waitpid(service.master, os.WUNTRACED)
        for number in (signal.SIGUSR2, signal.SIGHUP, signal.SIGCONT):
            service.tell(number)
        service.log.until("reloaded: ")
        service.log.until(" is to replace this one")
        service.log.until("replaced by process")
        assert ask(address) == b"hello"


def test_the_first_sigterm_to_a_master_that_was_replaced_does_not_wait_less_than_a_first():
    with Service("pingpong", "--workers", "1", "--listen", "127.0.0.1:0", "--drain", "1h") as service:
        host, _, port = service.address().rpartition(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as client:
            client.sendall(b"hello")
            assert client.recv(5, socket.MSG_WAITALL) == b"hello"
            service.tell(signal.SIGUSR2)
            service.log.until("replaced by process")
            service.tell(signal.SIGTERM)
            assert client.recv(1) == b"", "it was asked to end"
        service.log.until("drained: 1 finished")
        assert service.process.wait(PATIENCE_SECONDS) == 0
        assert ask(f"{host}:{port}") == b"hello"
