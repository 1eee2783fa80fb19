# SPDX-License-Identifier: BSD-3-Clause
"""The pre-forked example: it serves, and its file is heeded at SIGHUP."""
import os
import pathlib
import select
import signal

from programs import Program, connect


def answer(peer):
    peer.sendall(b"hello\n")
    with peer.makefile("r") as lines:
        return lines.readline()


def workers(service):
    master = service.process.pid
    pids = pathlib.Path(f"/proc/{master}/task/{master}/children").read_text().split()
    return [os.pidfd_open(int(pid)) for pid in pids]


def test_lines_come_back_from_workers_of_the_newest_generation(tmp_path):
    file = tmp_path / "workers"
    file.write_text("1")
    with Program("preforked", "127.0.0.1:0", file) as service:
        address = service.address()
        with connect(address) as old:
            assert answer(old) == "one of 1 workers of generation 1: hello\n"
            first_generation = workers(service)
            file.write_text("3")
            service.process.send_signal(signal.SIGHUP)
            seen = set()
            while "one of 3 workers of generation 2: hello\n" not in seen:
                with connect(address) as peer:
                    seen.add(answer(peer))
            assert answer(old) == "one of 1 workers of generation 1: hello\n"
        for worker in first_generation:  # until it has gone it may take a connection
            assert select.select([worker], [], [], 30)[0]
            os.close(worker)
        file.write_text("none")
        service.process.send_signal(signal.SIGHUP)
        for _ in range(10):
            with connect(address) as peer:
                assert "generation 2" in answer(peer)
        code, _, log = service.end()
        assert code == 0 and "not reloaded: Invalid argument" in log
        assert not os.path.exists(f"/proc/{service.process.pid}")


def test_a_file_that_says_nothing_is_an_error(tmp_path):
    with Program("preforked", "127.0.0.1:0", tmp_path / "missing") as service:
        code, printed, error = service.wait()
        assert code == 1 and printed == "" and "missing" in error
