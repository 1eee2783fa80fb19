# SPDX-License-Identifier: BSD-3-Clause
"""`peal serve --workers` under a service manager, which the test plays.

The server serves the sockets of the service manager and reports to it. Some tests send several signals at once.
"""
import os
import signal
import socket
import time

import pytest

from programs import PATIENCE_SECONDS, connect, joined, parted, wait_until
from tls_parties import self_signed
from worker_service import PEAL, Manager, Service, ask


def handed_over(sockets, names):
    """Returns options that start a program with these sockets as fds 3, 4 and so on, as a service manager does."""
    places = " ".join(f"{3 + i}<&{each.fileno()}" for i, each in enumerate(sockets))
    start = f'exec {places}; LISTEN_FDS={len(sockets)} LISTEN_FDNAMES={names} LISTEN_PID=$$ exec "$0" "$@"'
    return {"prefix": ["bash", "-c", start], "pass_fds": [each.fileno() for each in sockets]}


def address_of(each):
    return joined(each.getsockname())


def serving(workers, sockets, names):
    return Service("pingpong", "--workers", workers, "--listen", "127.0.0.1:1", **handed_over(sockets, names))


@pytest.mark.parametrize("workers", ["0", "2"])
def test_sockets_of_a_service_manager_are_served(workers):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = address_of(listening)
        with serving(workers, [listening], "web") as service:
            assert service.address() == address
            assert ask(address) == b"hello"
            if workers != "0":
                assert service.replace() == address
                assert ask(address) == b"hello"
            service.end()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_all_addresses_of_a_service_manager_are_served_and_said(workers):
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        addresses = [address_of(one), address_of(other)]
        with serving(workers, [one, other], "web:web") as service:
            for ask_after in [service.address, *([service.replace] if workers != "0" else [])]:
                assert [ask_after(), service.address()] == addresses
                assert [ask(address) for address in addresses] == [b"hello", b"hello"]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_socket_named_peal_is_served_and_no_other(workers):
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as named:
        with serving(workers, [other, named], "other:peal") as service:
            assert service.address() == address_of(named)
            service.log.until(f"no listener uses the inherited fd 3 (other), a stream socket at {address_of(other)}")
            assert ask(address_of(named)) == b"hello"


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("place", [3, 4])
def test_a_datagram_socket_is_refused_by_its_own_name(workers, place):
    with socket.create_server(("127.0.0.1", 0)) as web, socket.socket(type=socket.SOCK_DGRAM) as dns:
        dns.bind(("127.0.0.1", 0))
        sockets = [dns, web] if place == 3 else [web, dns]
        with serving(workers, sockets, "dns:web" if place == 3 else "web:dns") as service:
            said = service.log.until("takes no connections")
            assert said.startswith(f"peal: fd {place} (dns), a datagram socket at {address_of(dns)} takes no ")
            assert service.process.wait(PATIENCE_SECONDS) == 1


# Without workers, peal took its own epoll fd for the promised socket, closed it and aborted.
@pytest.mark.parametrize("kind", ["--threads 1", "--threads 2", "--engine epoll", "--workers 2"])
@pytest.mark.parametrize("names", ["", "web:admin", "peal:x"])
def test_a_socket_that_is_promised_and_not_open_is_left_out(kind, names):
    with socket.create_server(("127.0.0.1", 0)) as web:
        start = (f'exec 3<&{web.fileno()} 4<&-; export LISTEN_FDS=2 LISTEN_PID=$$; '
                 f'[ -z "{names}" ] || export LISTEN_FDNAMES={names}; exec "$0" "$@"')
        with Service("pingpong", "--listen", "127.0.0.1:1", *kind.split(), prefix=["bash", "-c", start],
                     pass_fds=[web.fileno()]) as service:
            assert service.address() == address_of(web)
            name = names.partition(":")[2] or "unknown"
            service.log.until(f"LISTEN_FDS promises fd 4 ({name}), which is not open")
            assert ask(address_of(web)) == b"hello"
            assert service.ends_well()


@pytest.mark.parametrize("kind", ["--threads 1", "--threads 2", "--workers 2"])
def test_where_no_promised_socket_is_open_the_address_is_listened_on(tmp_path, kind):
    certificate, key = self_signed(tmp_path)
    start = 'exec 3<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$@"'
    with Service("http", "--listen", "127.0.0.1:0", "--access-log", tmp_path / "log", "--tls-cert", certificate,
                 "--tls-key", key, "--tls-key-log", tmp_path / "keys", *kind.split(),
                 prefix=["bash", "-c", start]) as service:
        service.log.until("LISTEN_FDS promises fd 3 (unknown), which is not open")
        assert service.address().startswith("127.0.0.1:")
        assert service.ends_well()


def test_a_socket_file_of_a_service_manager_stays(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with serving("2", [listening], "") as service:
            assert service.address() == service.replace() == f"unix:{path}"
            service.end()
        assert path.exists()


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
            wait_until(lambda: service.session() == [])


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
    with Service("pingpong", "--workers", "2", "--listen", "127.0.0.1:0") as service:
        address = service.address()
        service.tell(signal.SIGSTOP)
        os.waitpid(service.master, os.WUNTRACED)
        for number in (signal.SIGUSR2, signal.SIGHUP, signal.SIGCONT):
            service.tell(number)
        service.log.until("reloaded: ")
        service.log.until(" is to replace this one")
        service.log.until("replaced by process")
        assert ask(address) == b"hello"


def test_the_first_sigterm_to_a_master_that_was_replaced_drains():
    with Service("pingpong", "--workers", "1", "--listen", "127.0.0.1:0", "--drain", "1h") as service:
        address = service.address()
        with connect(parted(address)) as client:
            client.sendall(b"hello")
            assert client.recv(5, socket.MSG_WAITALL) == b"hello"
            service.tell(signal.SIGUSR2)
            service.log.until("replaced by process")
            service.tell(signal.SIGTERM)
            assert client.recv(1) == b"", "the replaced master drains, so it asks its client to end"
        service.log.until("drained: 1 finished")
        assert service.process.wait(PATIENCE_SECONDS) == 0
        assert ask(address) == b"hello"
