# SPDX-License-Identifier: BSD-3-Clause
"""The programs of docs/coroutines.md, run as a user would run them."""
import signal
import zlib

from programs import Program, connect, joined, read_all


def test_checksums_of_the_files_named(tmp_path):
    contents = {tmp_path / f"file{number}": bytes(range(256)) * number for number in range(40)}
    for path, content in contents.items():
        path.write_bytes(content)
    missing = tmp_path / "missing"
    with Program("checksums") as program:
        program.type("".join(f"{path}\n" for path in [*contents, missing]).encode())
        code, printed, _ = program.wait()
    assert code == 0
    wanted = {f"{zlib.adler32(content):08x} {path}" for path, content in contents.items()}
    assert set(printed.splitlines()) == wanted | {f"No such file or directory {missing}"}


def test_checksums_ends_on_an_interrupt(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    with Program("checksums") as program:
        program.type(f"{path}\n".encode())
        assert program.line() == f"{zlib.adler32(b'x'):08x} {path}"
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(30) == 0


def test_checksums_ends_on_an_interrupt_with_more_names_than_it_queues(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 1_000_000)
    with Program("checksums") as program:
        program.type(f"{path}\n".encode() * 500)
        assert program.line().endswith(f" {path}")
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(60) == 0


def test_relay_as_a_coroutine_keeps_half_close():
    with Program("echo", "127.0.0.1:0") as upstream, \
            Program("co_relay", joined(upstream.address()), "127.0.0.1:0") as relay, connect(relay.address()) as peer:
        peer.sendall(b"x" * 1_000_000)
        peer.shutdown(1)
        assert read_all(peer) == b"x" * 1_000_000
        assert relay.end()[0] == 0
