# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/processes.md: a master with workers, and programs that start other programs."""
import os
import pathlib
import select
import signal

from programs import PATIENCE_SECONDS, Program, ask, connect, run_program


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
        for worker in first_generation:  # the old worker may accept connections until it has ended
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
    code, printed, error = run_program("preforked", "127.0.0.1:0", tmp_path / "missing")
    assert code == 1 and printed == "" and "missing" in error


def post(address, body):
    answer, text = ask(address, "POST", "/", body)
    return answer.status, text


def test_what_is_posted_goes_through_a_program():
    numbers = [f"{number}\n".encode() for number in range(20_000)]
    with Program("filter_server", "127.0.0.1:0", "sort", "-n") as service:
        address = service.address()
        assert post(address, b"".join(reversed(numbers))) == (200, b"".join(numbers))
        assert post(address, b"") == (200, b"")
        assert service.end()[0] == 0


def test_a_program_that_fails_says_why():
    with Program("filter_server", "127.0.0.1:0", "sh", "-c", "echo no such thing >&2; exit 3") as service:
        assert post(service.address(), b"x") == (422, b"no such thing\n")
        assert service.end()[0] == 0


def test_a_client_that_goes_away_takes_its_program_along(tmp_path):
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    with Program("filter_server", "127.0.0.1:0", "sh", "-c", f"echo $$ >{pids}; exec sleep 1000") as service:
        with connect(service.address()) as peer:
            peer.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
            program = os.pidfd_open(int(pids.read_text()))
        assert select.select([program], [], [], PATIENCE_SECONDS)[0]
        os.close(program)
        assert service.end()[0] == 0


def test_a_program_is_kept_running_and_stopped():
    script = "echo hello; echo trouble >&2; exec sleep 1000"
    with Program("keep_running", "sh", "-c", script) as keeper:
        pid, text = keeper.line().split(": ")
        assert text == "hello" and keeper.line() == f"{pid}: trouble"
        os.kill(int(pid), signal.SIGKILL)
        assert keeper.line() == f"{pid} ended: code 0, signal 9"
        again, text = keeper.line().split(": ")
        assert again != pid and text == "hello" and keeper.line() == f"{again}: trouble"
        keeper.process.send_signal(signal.SIGINT)
        assert keeper.line() == f"{again} ended: code 0, signal 15"
        assert keeper.process.wait(PATIENCE_SECONDS) == 0


def test_a_grandchild_that_holds_the_output_keeps_nothing_from_ending(tmp_path):
    left = tmp_path / "left"
    os.mkfifo(left)
    script = f"setsid sh -c 'echo $$; echo >{left}; exec sleep 1000' & read line <{left}"
    pids = []
    with Program("keep_running", "sh", "-c", script) as keeper:
        try:
            pid, grandchild = keeper.line().split(": ")
            pids.append(int(grandchild))
            assert keeper.line() == f"{pid} ended: code 0, signal 0"
            keeper.process.send_signal(signal.SIGTERM)
            code, printed, _ = keeper.wait()  # the program may have been started once more
            pids += [int(line.split(": ")[1]) for line in printed.splitlines() if ": " in line and "ended" not in line]
            assert code == 0
        finally:
            for grandchild in pids:
                os.kill(grandchild, signal.SIGKILL)


def test_a_program_that_is_not_there_cannot_be_kept_running():
    code, printed, error = run_program("keep_running", "no-such-program-of-peal")
    assert (code, printed) == (0, "") and "cannot start no-such-program-of-peal" in error
