# SPDX-License-Identifier: BSD-3-Clause
"""Python's ssl against servers of peal.

The tests check which certificates are trusted, sessions, every kind of end, bytes in tiny pieces, and clients that
vanish. At SIGHUP, the https site must read its certificate again.
"""
import contextlib
import hashlib
import signal
import socket
import ssl

import pytest

from programs import PATIENCE_SECONDS, Program, connect, echo_once, joined, read_all, reset, run_program, wait_until
from tls_parties import GET, GET_AND_CLOSE, LARGE, PAGE, ByHand, hello_of, https_site, self_signed

VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.fixture(name="version", params=VERSIONS, ids=["1.2", "1.3"])
def fixture_version(request):
    return {"minimum_version": request.param, "maximum_version": request.param}


@contextlib.contextmanager
def opened(site, context, host="localhost", **options):
    with connect(site.address) as plain:
        with context.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=False, **options) as secure:
            yield secure


def ask_page(secure):
    """Asks for the page on a connection that stays open, and reads the answer."""
    secure.sendall(GET)
    got = b""
    while not got.endswith(PAGE):
        chunk = secure.recv(65536)
        assert chunk, got
        got += chunk


def test_a_verified_connection(site, version):
    with opened(site, site.context(**version)) as secure:
        secure.sendall(GET_AND_CLOSE)
        assert read_all(secure).endswith(PAGE)
        assert secure.getpeercert()["subjectAltName"] == (("DNS", "localhost"), ("IP Address", "127.0.0.1"))
        assert secure.unwrap().fileno() >= 0, "both sides must have sent close_notify"


@pytest.mark.parametrize("host", ["127.0.0.1", "elsewhere.example"])
def test_an_address_is_a_name_too_and_a_wrong_one_is_refused(site, host):
    with contextlib.ExitStack() as stack:
        if host == "elsewhere.example":
            stack.enter_context(pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"))
        with opened(site, site.context(), host) as secure:
            ask_page(secure)


def test_who_believes_others_refuses(site):
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        with opened(site, ssl.create_default_context()):
            pass


def test_a_session_goes_on(site, version):
    context = site.context(**version)
    with opened(site, context) as secure:
        ask_page(secure)
        session = secure.session
        assert not secure.session_reused
    for _ in range(2):
        with opened(site, context, session=session) as secure:
            ask_page(secure)
            assert secure.session_reused


def test_unwrap_leaves_a_plain_socket(site, version):
    """The client ends first. The server must answer with its own close_notify, then with FIN."""
    with opened(site, site.context(**version)) as secure:
        ask_page(secure)
        with secure.unwrap() as plain:
            plain.settimeout(PATIENCE_SECONDS)
            assert plain.recv(100) == b""


@pytest.mark.parametrize("step", [1, 2, 7, 100])
def test_records_in_tiny_pieces(site, version, step):
    with ByHand(site.address, site.context(**version), step=step) as peer:
        peer.shake_hands()
        for _ in range(3):
            peer.send(GET)
            got = b""
            while not got.endswith(PAGE):
                got += peer.until_done(peer.tls.read, 65536)


def test_a_request_of_one_byte_a_record(site, version):
    with opened(site, site.context(**version)) as secure:
        for byte in GET_AND_CLOSE:
            secure.sendall(bytes([byte]))
        assert read_all(secure).endswith(PAGE)


def test_a_slow_reader_gets_all_of_a_large_file(site, version):
    with opened(site, site.context(**version)) as secure:
        secure.sendall(GET_AND_CLOSE.replace(b"/page.html", b"/large.bin"))
        got = b"".join(iter(lambda: secure.recv(5000), b""))
    assert hashlib.sha256(got.partition(b"\r\n\r\n")[2]).digest() == hashlib.sha256(LARGE).digest()


def test_half_close_through_the_relay(tmp_path):
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=certificate)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with echo_once() as upstream, Program("tls_relay", joined(upstream), certificate, key, "127.0.0.1:0") as relay:
        with ByHand(relay.address(), context) as peer:
            peer.shake_hands()
            for at in range(0, 200_000, 10_000):
                peer.send(LARGE[at:at + 10_000])
            with pytest.raises(ssl.SSLWantReadError):
                peer.tls.unwrap()
            peer.flush()
            assert peer.read_to_the_mark() == LARGE[:200_000]
        assert relay.end()[0] == 0


def test_an_end_without_the_mark_ends_only_itself(site, version):
    with opened(site, site.context(**version)) as other:
        with ByHand(site.address, site.context(**version)) as peer:
            peer.shake_hands()
            peer.send(GET[:20])
            peer.socket.shutdown(socket.SHUT_WR)
            while not peer.ended:
                peer.take()
        ask_page(other)


def test_clients_that_vanish_at_any_moment_leave_nothing(site):
    with opened(site, site.context()) as secure:
        ask_page(secure)
    baseline = site.open_files() - 1  # the connection above may still be open
    first = hello_of(site.context())
    for size in (0, 1, 4, 5, 6, 50, len(first) - 1, len(first)):
        plain = connect(site.address)
        plain.sendall(first[:size])
        (reset if size % 2 else socket.socket.close)(plain)
    for stage in ("after the handshake", "within a request", "within a download"):
        with ByHand(site.address, site.context()) as peer:
            peer.shake_hands()
            if stage != "after the handshake":
                peer.send(GET[:15] if stage == "within a request" else GET.replace(b"page.html", b"large.bin"))
            if stage == "within a download":
                peer.take()
            reset(peer.socket)
    wait_until(lambda: site.open_files() <= baseline + 1, "the fds of the clients that left are closed")
    with opened(site, site.context()) as secure:
        secure.sendall(GET_AND_CLOSE)
        assert read_all(secure).endswith(PAGE)


@pytest.mark.parametrize("noise", [b"\0" * 100, b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x16\x03\x01\0\0" * 100,
                                   b"\x15\x03\x01\0\2\2\x28", b"\x80\x2e\1\0\2" + b"\0" * 50, b"\r\n" * 50])
def test_what_is_no_tls_ends_by_itself(site, noise):
    with connect(site.address) as plain:
        plain.sendall(noise)
        plain.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            while plain.recv(65536):
                pass
    with opened(site, site.context()) as secure:
        ask_page(secure)


def error_line(site):
    """Returns the next line of stderr that is not from the log. Lines of the log begin with the time."""
    while True:
        line = site.program.process.stderr.readline().decode()
        assert line, "the site has ended"
        if not line.startswith("20"):
            return line


def test_reload_by_sighup(tmp_path):
    with https_site(tmp_path) as site, contextlib.ExitStack() as stack:
        before = site.context()
        old = stack.enter_context(opened(site, before))
        ask_page(old)

        self_signed(tmp_path)
        site.program.process.send_signal(signal.SIGHUP)
        assert error_line(site) == "the certificate was read anew\n"
        after = site.context()
        with opened(site, after) as new:
            ask_page(new)
        with pytest.raises(ssl.SSLCertVerificationError):
            with opened(site, before):
                pass
        ask_page(old)
        with opened(site, before, session=old.session) as again:
            assert again.session_reused, "a session of before the reload must still be accepted"

        good = site.certificate.read_bytes()
        for broken in (b"", b"this is no certificate\n", good[:len(good) // 2], self_signed(tmp_path, "other")[0]):
            site.certificate.write_bytes(broken if isinstance(broken, bytes) else broken.read_bytes())
            site.program.process.send_signal(signal.SIGHUP)
            said = error_line(site)
            assert str(tmp_path) in said and "anew" not in said, said
            with opened(site, after) as new:
                ask_page(new)
        site.certificate.unlink()
        site.program.process.send_signal(signal.SIGHUP)
        assert str(site.certificate) in error_line(site)
        old.sendall(GET_AND_CLOSE)
        assert read_all(old).endswith(PAGE)


def test_a_certificate_that_is_no_good_is_refused_at_the_start(tmp_path):
    certificate, key = self_signed(tmp_path)
    _, other = self_signed(tmp_path, "other")
    for pair in ((certificate, other), (tmp_path / "missing.pem", key), (key, key)):
        code, out, errors = run_program("https_site", tmp_path, *pair, "127.0.0.1:0")
        assert (code, out) == (1, "") and str(tmp_path) in errors
