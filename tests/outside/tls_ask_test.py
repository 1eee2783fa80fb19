# SPDX-License-Identifier: BSD-3-Clause
"""The client of `mutual_tls ask` against `openssl s_server` and Python's ssl.

The tests check which servers it trusts, with which sentence it refuses the others, and how it reports an end without
close_notify.
"""
import contextlib
import fcntl
import socket
import ssl
import subprocess
import sys
import termios

import pytest

from programs import Program, one_client, read_all, run_program, tool, wait_until
from tls_parties import Authority, expired, read_until, self_signed, server_context

QUESTION = b"who am I?"


@pytest.fixture(name="authority", scope="module")
def fixture_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(name="reader", scope="module")
def fixture_reader(authority):
    return authority.signs("reader")


def ask(authority, reader, place):
    """Returns the exit code, the answer and the last line of stderr."""
    code, out, errors = run_program("mutual_tls", "ask", authority.certificate, *reader, place)
    return code, out, errors.splitlines()[-1] if errors else ""


@contextlib.contextmanager
def s_server(pair, *words):
    """Runs `openssl s_server`. Yields its port and its process.

    The process sends what is written to its stdin, and prints what it receives.
    """
    command = [tool("openssl"), "s_server", "-accept", "127.0.0.1:0", "-cert", pair[0], "-key", pair[1], *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            text = read_until(process.stdout, b"ACCEPT ", b"\n")
            yield int(text.partition(b"ACCEPT ")[2].split(b"\n")[0].rpartition(b":")[2]), process
        finally:
            process.kill()


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
@pytest.mark.parametrize("client_auth", [[], ["-Verify", "1", "-verify_return_error"]])
def test_s_server_is_believed(authority, reader, version, client_auth):
    words = [version, "-CAfile", authority.certificate, *client_auth]
    with s_server(authority.signs("service"), *words) as (port, process):
        with Program("mutual_tls", "ask", authority.certificate, *reader, f"localhost:{port}") as client:
            heard = read_until(process.stdout, QUESTION)
            process.stdin.write(b"somebody\n")
            process.stdin.flush()
            assert client.wait() == (0, "somebody\n", "")
    assert (b"subject=CN = reader" in heard) == bool(client_auth)


def test_s_server_that_refuses_our_certificate(authority, tmp_path):
    stranger = Authority(tmp_path, "somebody").signs("stranger")
    words = ["-CAfile", authority.certificate, "-Verify", "1", "-verify_return_error"]
    with s_server(authority.signs("service"), *words) as (port, _):
        code, out, errors = ask(authority, stranger, f"localhost:{port}")
        assert (code, out) == (1, "") and "alert: unknown CA" in errors


def unread(pipe):
    """Returns how many bytes wait in the pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_s_server_whose_keys_change(authority, reader):
    with s_server(authority.signs("service"), "-tls1_3", "-msg") as (port, process):
        with Program("mutual_tls", "ask", authority.certificate, *reader, f"localhost:{port}") as client:
            read_until(process.stdout, QUESTION)
            process.stdin.write(b"K\n")
            process.stdin.flush()
            wait_until(lambda: unread(process.stdin) == 0, "s_server has read the command")
            process.stdin.write(b"new keys\n")
            process.stdin.flush()
            assert client.wait() == (0, "new keys\n", "")
        assert b">>> TLS 1.3, Handshake [length 0005], KeyUpdate" in read_until(process.stdout, b"KeyUpdate")


@contextlib.contextmanager
def python_server(pair, play):
    """Yields the port of a server in Python.

    The server accepts one client, does the handshake and calls `play` with the socket.
    """
    context = server_context(pair)

    def serve(plain):
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            with context.wrap_socket(plain, server_side=True) as secure:
                play(secure)

    with one_client(serve) as (_, port):
        yield port


def answers(secure):
    assert secure.recv(100) == QUESTION
    secure.sendall(b"a reader\n")
    secure.unwrap()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_python_is_believed_under_its_name_and_its_address(authority, reader, host):
    with python_server(authority.signs("service"), answers) as port:
        assert ask(authority, reader, f"{host}:{port}") == (0, "a reader\n", "")


def refused(authority, reader, pair):
    """Runs the client against a server with this certificate, which it must refuse. Returns its sentence."""
    with python_server(pair, answers) as port:
        code, out, errors = ask(authority, reader, f"localhost:{port}")
        assert (code, out) == (1, "")
        return errors


def test_a_wrong_name(authority, reader):
    pair = authority.signs("elsewhere", "DNS:elsewhere.example")
    assert refused(authority, reader, pair) == "the peer's certificate is not accepted: hostname mismatch"


def test_an_expired_certificate(authority, reader, tmp_path):
    pair = expired(tmp_path, authority)
    assert refused(authority, reader, pair) == "the peer's certificate is not accepted: certificate has expired"


def test_a_self_signed_certificate(authority, reader, tmp_path):
    pair = self_signed(tmp_path)
    assert refused(authority, reader, pair) == "the peer's certificate is not accepted: self-signed certificate"


def test_an_authority_nobody_believes(authority, reader, tmp_path):
    pair = Authority(tmp_path, "somebody").signs("service")
    assert "the peer's certificate is not accepted: unable to get local issuer" in refused(authority, reader, pair)


def test_an_end_without_its_mark_is_truncation(authority, reader):
    def play(secure):
        assert secure.recv(100) == QUESTION  # a FIN without close_notify follows
    with python_server(authority.signs("service"), play) as port:
        code, out, errors = ask(authority, reader, f"localhost:{port}")
        assert (code, out) == (1, "") and "cut short" in errors


def test_a_marked_end_before_the_answer_is_no_truncation(authority, reader):
    def play(secure):
        assert secure.recv(100) == QUESTION
        secure.unwrap()
    with python_server(authority.signs("service"), play) as port:
        assert ask(authority, reader, f"localhost:{port}") == (1, "", "the service ended before it answered")


@pytest.mark.parametrize("says, why", [
    (b"220 mail.example.org ESMTP\r\n", "the peer does not speak TLS"),
    (b"\x15\x03\x03\0\2\2\x46", "the peer's alert: protocol version (70)"),
    (b"\x15\x03\x03\0\2\2\x50", "the peer's alert: internal error (80)"),
    (b"\x15\x03\x03\0\2\2\x74", "the peer's alert: certificate required (116)"),
    (b"", "the peer ended too early: what it sent may be cut short")])
def test_a_server_that_does_not_shake_hands(authority, reader, says, why):
    def serve(peer):
        with contextlib.suppress(ConnectionError):
            peer.recv(65536)
            peer.sendall(says)
            peer.shutdown(socket.SHUT_WR)
            read_all(peer)

    with one_client(serve) as (_, port):
        assert ask(authority, reader, f"localhost:{port}") == (1, "", why)
