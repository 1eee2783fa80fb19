# SPDX-License-Identifier: BSD-3-Clause
"""`smtp_sender`, which begins in the clear and continues over TLS.

It talks to `smtp_receiver`, and to servers made by hand, honest ones and dishonest ones.
"""
import contextlib
import socket
import ssl

import pytest

from programs import Program, one_client, read_all, run_program
from smtp_parties import DOTS, READER, SENDER, hear_line, running
from tls_parties import Authority, self_signed, server_context


@pytest.fixture(name="receiver")
def fixture_receiver(tmp_path):
    with running(tmp_path) as receiver:
        yield receiver


def send(server, roots=None, text=DOTS):
    """Runs the sender. Returns its exit code, its output and the last line of stderr."""
    words = [server, SENDER, READER] + ([roots] if roots else [])
    with Program("smtp_sender", *words) as sender:
        sender.type(text.encode())
        code, out, errors = sender.wait()
        return code, out, errors.splitlines()[-1] if errors else ""


@pytest.mark.parametrize("text", [DOTS, "", "no end", "ends\nas files do\n.\n", "\N{SNOWMAN}\n", "x" * 998 + "\n"])
def test_sender_and_receiver(receiver, text):
    assert send(f"localhost:{receiver.port}", receiver.certificate, text) == (0, "250 taken\r\n", "")
    lines = text.splitlines()
    assert receiver.takes("".join(line + "\r\n" for line in lines))[0] == "TLSv1.3"


def test_the_sender_says_what_the_receiver_does_not_like(receiver):
    server = f"localhost:{receiver.port}"
    assert send(server, receiver.certificate, "x\n" * 400_000) == (1, "", "the server says: 552 too large")
    for bad in ("x" * 999, "a\rb"):
        assert send(server, receiver.certificate, bad)[0] == 1


def test_the_sender_does_not_believe_the_receiver(receiver, tmp_path):
    other, _ = self_signed(tmp_path, "other")
    refused = "no TLS: the peer's certificate is not accepted: "
    for roots in (None, other):
        code, out, sentence = send(f"localhost:{receiver.port}", roots)
        assert (code, out) == (1, "") and sentence == refused + "self-signed certificate"
    assert send(f"localhost:{receiver.port}", receiver.certificate)[0] == 0
    receiver.takes(DOTS)


def test_the_sender_wants_the_name_that_it_was_told(tmp_path):
    with running(tmp_path, hosts=["localhost"]) as receiver:
        code, _, sentence = send(f"127.0.0.1:{receiver.port}", receiver.certificate)
        assert code == 1 and sentence == "no TLS: the peer's certificate is not accepted: IP address mismatch"


@pytest.mark.parametrize("reader", ["a@b>\r\nRCPT TO:<c@d", "\N{SNOWMAN}@example.org", "a b@example.org"])
def test_what_is_no_address_is_not_sent(reader):
    code, out, errors = run_program("smtp_sender", "localhost:25", SENDER, reader)
    assert (code, out) == (2, "") and errors.startswith("usage: ")


@pytest.fixture(name="authority", scope="module")
def fixture_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def greet(peer, *offers):
    """Greets the client and answers its EHLO."""
    peer.sendall(b"220-mail.example.org\r\n220 ESMTP\r\n")
    listen(peer, offers)


def listen(peer, offers):
    assert hear_line(peer).startswith("EHLO ")
    *lines, last = "mail.example.org", *offers
    peer.sendall(("".join(f"250-{line}\r\n" for line in lines) + f"250 {last}\r\n").encode())


def over_tls(pair, then=lambda secure: None, go=b"220 ready\r\n"):
    """Returns an honest server that greets, accepts STARTTLS and does the handshake. Then it calls `then`."""
    context = server_context(pair)

    def play(peer):
        greet(peer, "starttls")
        assert hear_line(peer) == "STARTTLS"
        peer.sendall(go)
        with context.wrap_socket(peer, server_side=True) as secure:
            then(secure)
    return play


def test_the_sender_and_a_server_by_hand(authority):
    heard = []

    def then(secure):
        listen(secure, ["SIZE"])
        for answer in (b"250 ok\r\n", b"251 forwarded\r\n", b"354 go\r\n"):
            heard.append(hear_line(secure))
            secure.sendall(answer)
        text = ""
        while not text.endswith("\r\n.\r\n"):
            text += hear_line(secure) + "\r\n"
        heard.append(text)
        secure.sendall(b"250-taken\r\n250 as number 7\r\n")
        assert hear_line(secure) == "QUIT"
        secure.sendall(b"221 bye\r\n")
        secure.unwrap()

    with one_client(over_tls(authority.signs("mail"), then)) as (_, port):
        assert send(f"localhost:{port}", authority.certificate) == (0, "250-taken\r\n250 as number 7\r\n", "")
    stuffed = DOTS.replace("\r\n.", "\r\n..")
    assert heard == [f"MAIL FROM:<{SENDER}>", f"RCPT TO:<{READER}>", "DATA", stuffed + ".\r\n"]


@pytest.mark.parametrize("offers", [(), ("SIZE 1000", "STARTTLSX"), ("8BITMIME", "X-STARTTLS")])
def test_without_starttls_nothing_is_sent(authority, offers):
    """This also happens if somebody on the way has removed the offer of STARTTLS."""
    def play(peer):
        greet(peer, *offers)
        assert hear_line(peer) == "QUIT"
        peer.sendall(b"221 bye\r\n")
        assert read_all(peer) == b""
    with one_client(play) as (_, port):
        assert send(f"localhost:{port}", authority.certificate) == (
            1, "", "the server does not offer STARTTLS: nothing is sent")


@pytest.mark.parametrize("names, of, why", [
    ("DNS:elsewhere.example", None, "hostname mismatch"),
    ("DNS:localhost", "somebody", "unable to get local issuer certificate")])
def test_a_certificate_of_somebody_else(authority, tmp_path, names, of, why):
    pair = (Authority(tmp_path, of) if of else authority).signs("other", names)

    def then(peer):
        with pytest.raises(ssl.SSLError, match="alert"):
            over_tls(pair)(peer)
    with one_client(then) as (_, port):
        code, out, sentence = send(f"localhost:{port}", authority.certificate)
        assert (code, out) == (1, "") and sentence.startswith(f"no TLS: the peer's certificate is not accepted: {why}")


def only_records_of_tls(data):
    """Checks that the data has only records of handshakes and alerts. Nothing was sent in the clear or as TLS data."""
    while data:
        assert data[0] in (21, 22) and data[1] == 3, data
        data = data[5 + int.from_bytes(data[3:5]):]


@pytest.mark.parametrize("injected", [b"250 mail.example.org\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n", b"2"])
def test_answers_injected_behind_the_go_ahead_are_not_believed(authority, injected):
    def play(peer):
        greet(peer, "STARTTLS")
        assert hear_line(peer) == "STARTTLS"
        peer.sendall(b"220 ready\r\n" + injected)
        peer.shutdown(socket.SHUT_WR)
        rest = b""
        with contextlib.suppress(ConnectionError):
            while chunk := peer.recv(65536):
                rest += chunk
        only_records_of_tls(rest)
    with one_client(play) as (_, port):
        code, out, sentence = send(f"localhost:{port}", authority.certificate)
        assert (code, out) == (1, "")
        assert sentence in ("no TLS: the peer does not speak TLS",
                            "no TLS: the peer ended too early: what it sent may be cut short")


def test_the_honest_server_behind_who_injected_gets_nothing(authority):
    """This is CVE-2011-0411 against a client: one answer too many comes, then a handshake that would succeed."""
    def goes_on(secure):
        pytest.fail(f"the sender went on: {hear_line(secure)}")

    def play(peer):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            over_tls(authority.signs("mail"), goes_on, go=b"220 ready\r\n250 mail.example.org\r\n")(peer)
    with one_client(play) as (_, port):
        assert send(f"localhost:{port}", authority.certificate) == (1, "", "no TLS: the peer does not speak TLS")


def test_a_server_that_will_not(authority):
    """The server refuses TLS, refuses the mail, or ends without an answer."""
    def not_now(peer):
        greet(peer, "STARTTLS")
        assert hear_line(peer) == "STARTTLS"
        peer.sendall(b"454 not now\r\n")
        assert hear_line(peer) == "QUIT"

    def no_reader(secure):
        listen(secure, [])
        for answer in (b"250 ok\r\n", b"550 unknown reader\r\n"):
            hear_line(secure)
            secure.sendall(answer)
        assert hear_line(secure) == "QUIT"

    pair = authority.signs("mail")
    for play, text, why in [
            (not_now, DOTS, "the server says: 454 not now"),
            (over_tls(pair, no_reader), DOTS, "the server says: 550 unknown reader"),
            (over_tls(pair, lambda secure: listen(secure, [])), "\N{SNOWMAN}\n", "the server takes nothing but ASCII"),
            (lambda peer: None, DOTS, "the server ended without an answer")]:
        with one_client(play) as (_, port):
            assert send(f"localhost:{port}", authority.certificate, text) == (1, "", why)
