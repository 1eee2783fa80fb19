# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve http --access-log` on a pipe: a FIFO with or without a reader, or with a slow one, and stdout.

The tests guard against three mistakes of the past:
- Without a reader the server did not start. It opened the log twice, so a reader that ends with its input had left
  before the second time.
- When a reader left later, SIGPIPE ended the server.
- A SIGUSR1 after that blocked the server's loop for ever, so that even two SIGTERMs did not end it.
"""
import contextlib
import fcntl
import os
import re
import select
import signal

import pytest

import programs
from peal_program import peal
from programs import PATIENCE_SECONDS, wait_until
from worker_service import Service

KINDS = ["--threads 1", "--threads 2", "--workers 2"]
LINE = re.compile(r'127\.0\.0\.1 - - \[[^]]+\] "GET (/\S*) HTTP/1\.1" (?:200 13|404 \d+) .*')


def ask(address, path="/"):
    return programs.ask(programs.parted(address), "GET", path)[0].status


class Reader:
    """Reads a FIFO. `rest` holds the bytes after the last complete line."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.ended = False
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def lines(self):
        """Returns the complete lines that have arrived."""
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.fd, 65536):
                data += piece
            self.ended = True
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode() for line in lines]

    def next_lines(self):
        """Waits for more lines and returns them."""
        ready, _, _ = select.select([self.fd], [], [], PATIENCE_SECONDS)
        assert ready
        return self.lines()


@pytest.fixture(name="fifo")
def a_fifo(tmp_path):
    os.mkfifo(tmp_path / "log")
    return tmp_path / "log"


@contextlib.contextmanager
def serving(log, kind):
    """Runs a service that must end well at SIGTERM."""
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", log, *kind.split()) as service:
        yield service
        assert service.ends_well()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fifo_that_nobody_reads_is_refused_at_once(fifo, kind):
    done = peal("serve", "http", "--listen", "127.0.0.1:0", "--access-log", fifo, *kind.split())
    assert done.returncode == 1
    assert done.stderr == f"peal: --access-log {fifo}: it is a FIFO that nobody reads, or a socket\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_gets_every_line_and_no_end_before_the_server_ends(fifo, kind):
    with Reader(fifo) as reader:
        with serving(fifo, kind) as service:
            address = service.address()
            assert not reader.lines() and not reader.ended
            assert [ask(address, f"/?{i}") for i in range(5)] == [200] * 5
            seen = []
            wait_until(lambda: len(seen.extend(reader.next_lines()) or seen) == 5)
            assert not reader.ended
        reader.lines()
        assert reader.ended
    assert sorted(LINE.fullmatch(line)[1] for line in seen) == [f"/?{i}" for i in range(5)]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP], ids=["USR1", "HUP"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_that_leaves_ends_nothing_and_another_may_come(fifo, kind, number):
    with contextlib.ExitStack() as stack:
        with Reader(fifo) as reader:
            service = stack.enter_context(serving(fifo, kind))
            address = service.address()
            assert ask(address, "/?before") == 200
            assert "/?before" in reader.next_lines()[0]
        assert ask(address, "/?dropped") == 200
        service.log.until(f"lines of the access log {fifo} are dropped (1): nobody reads it")
        service.tell(number)
        if number == signal.SIGHUP and kind == "--workers 2":
            service.log.until("reloaded: ")
        else:
            service.log.until("cannot be reopened, and the old file stays in use: it is a FIFO that nobody reads")
        assert ask(address) == 200
        with Reader(fifo) as reader:
            seen = []
            wait_until(lambda: ask(address, "/?after") == 200 and "/?after" in str(seen.extend(reader.lines()) or seen))


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_that_does_not_read_holds_nobody_up(fifo, kind):
    with Reader(fifo) as reader, serving(fifo, kind) as service:
        fcntl.fcntl(reader.fd, fcntl.F_SETPIPE_SZ, 4096)
        address = service.address()
        for i in range(300):
            assert ask(address, f"/?{i}") == 200
        assert "it is read too slowly" in service.log.until(f"lines of the access log {fifo} are dropped (")
        seen = reader.next_lines()
        assert reader.rest == b"" and 0 < len(seen) < 300
        assert all(LINE.fullmatch(line) for line in seen)


def test_a_line_that_no_pipe_takes_at_once_is_cut(fifo):
    with Reader(fifo) as reader, serving(fifo, "--threads 1") as service:
        address = service.address()
        for path in ("/" + "x" * 6000, "/?next"):
            assert ask(address, path) in (200, 404)
        seen = []
        wait_until(lambda: len(seen.extend(reader.next_lines()) or seen) == 2)
    assert len(seen[0]) == 4095 and seen[0].endswith("xxx")
    assert LINE.fullmatch(seen[1])[1] == "/?next"


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_of_stdout_or_stderr_that_leaves_ends_no_server(kind):
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", "/dev/stdout", *kind.split()) as service:
        address = service.address()
        assert ask(address, "/?seen") == 200
        service.output.until("/?seen")
        service.process.stdout.close()
        service.process.stderr.close()
        assert ask(address, "/?dropped") == 200
        service.tell(signal.SIGUSR1)
        assert [ask(address) for _ in range(4)] == [200] * 4
        assert service.ends_well()


def test_a_full_disk_is_said():
    with serving("/dev/full", "--threads 1") as service:
        assert ask(service.address()) == 200
        service.log.until("lines of the access log /dev/full are dropped (1): No space left on device")
