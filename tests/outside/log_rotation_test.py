# SPDX-License-Identifier: BSD-3-Clause
"""The access log of `peal serve http` is rotated while clients are served.

The file is moved away and a signal is sent. Every request must have its line in one of the files. Before, SIGHUP ended
a single process without TLS, without draining, and no signal made a process reopen the file.
"""
import http.client
import re
import signal
import ssl
import threading

import pytest

from programs import PATIENCE_SECONDS, answered, ask, parted, wait_until
from tls_parties import self_signed
from worker_service import Manager, Service

LINE = re.compile(r'127\.0\.0\.1 - - \[[^]]+\] "GET (/collect\?\S+) HTTP/1\.1" 200 13 .*')
ROTATIONS = 3


class Crowd:
    """Clients that send requests until they are stopped. Each request has a connection of its own."""

    def __init__(self, address):
        self._address = parted(address)
        self.answered, self.failed = [], []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=[name]) for name in "abc"]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, name):
        number = 0
        while not self._stop.is_set():
            path = f"/collect?{name}{number}"
            number += 1
            try:
                assert ask(self._address, "GET", path)[0].status == 200
                self.answered.append(path)
            except OSError as error:
                self.failed.append((path, error))


def lines_of(folder):
    return [line for file in sorted(folder.glob("access.log*")) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP], ids=["USR1", "HUP"])
@pytest.mark.parametrize("kind", ["--threads 1", "--threads 2", "--workers 2"])
def test_a_log_that_is_rotated_under_load_loses_no_line(tmp_path, kind, number):
    log = tmp_path / "access.log"
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", log, *kind.split()) as service:
        with Crowd(service.address()) as crowd:
            for rotation in range(ROTATIONS):
                wait_until(lambda: log.exists() and log.stat().st_size > 0)
                log.rename(tmp_path / f"access.log.{rotation}")
                service.tell(number)
                if number == signal.SIGHUP and kind == "--workers 2":
                    service.log.until("reloaded: ")
            wait_until(lambda: log.exists() and log.stat().st_size > 0)
        service.end()
        assert service.process.wait(PATIENCE_SECONDS) == 0
    assert crowd.failed == []
    seen = [LINE.fullmatch(line) for line in lines_of(tmp_path)]
    assert all(seen)
    assert sorted(each[1] for each in seen) == sorted(crowd.answered)


def test_a_log_that_cannot_be_reopened_goes_on_in_the_old_file(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", folder / "access.log") as service:
        address = service.address()
        folder.rename(tmp_path / "moved")
        service.tell(signal.SIGUSR1)
        service.log.until("cannot be reopened, and the old file stays in use: No such file or directory")
        with Crowd(address) as crowd:
            wait_until(lambda: crowd.answered)
        assert service.ends_well()
    assert len(lines_of(tmp_path / "moved")) == len(crowd.answered) > 0


@pytest.mark.parametrize("service", ["http", "pingpong"])
def test_a_hangup_of_a_process_with_nothing_to_reload_is_told_and_ends_nothing(tmp_path, service):
    with Manager(tmp_path / "notify") as manager:
        with Service(service, "--listen", "127.0.0.1:0", env=manager.environment) as served:
            served.address()
            manager.until("READY=1")
            served.tell(signal.SIGUSR1)
            served.tell(signal.SIGHUP)
            manager.until("RELOADING=1", "READY=1")
            assert served.ends_well()


@pytest.mark.parametrize("kind", ["--threads 1", "--workers 1"])
def test_a_reload_that_fails_has_reopened_the_log(tmp_path, kind):
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=certificate)
    log = tmp_path / "access.log"
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", log, "--tls-cert", certificate, "--tls-key", key,
                 *kind.split()) as service:
        address = parted(service.address())
        log.rename(tmp_path / "access.log.0")
        certificate.write_text("no certificate\n")
        service.tell(signal.SIGHUP)
        service.log.until("the access log ")
        client = http.client.HTTPSConnection(*address, timeout=PATIENCE_SECONDS, context=context)
        assert answered(client, "GET", "/")[1] == b"Hello, World!"
        client.close()
        assert service.ends_well()
    assert log.read_text().count("\n") == 1
    assert (tmp_path / "access.log.0").read_text() == ""
