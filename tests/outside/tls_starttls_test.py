# SPDX-License-Identifier: BSD-3-Clause
"""`smtp_receiver`, which begins in the clear and continues over TLS.

openssl, curl and Python's smtplib send mail to it. Peers made by hand send what must not become a mail.
"""
import concurrent.futures
import contextlib
import ssl
import subprocess

import pytest

from programs import PATIENCE_SECONDS, joined, open_files, read_all, run_program, tool, wait_until
from smtp_parties import DOTS, READER, SENDER, hear, running
from tls_parties import hello_of, s_client, self_signed

# All commands of a mail after EHLO, without waiting for the answers.
MAIL = (f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<{READER}>\r\nDATA\r\nSubject: hello\r\n\r\nover TLS\r\n.\r\n").encode()
EHLO, START = b"EHLO client.example.org\r\n", b"STARTTLS\r\n"


@pytest.fixture(name="receiver")
def fixture_receiver(tmp_path):
    with running(tmp_path) as receiver:
        yield receiver


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_s_client_sends_a_mail(receiver, version):
    text = s_client(joined(receiver.address), "-starttls", "smtp", "-tls" + version.replace(".", "_"), "-CAfile",
                    receiver.certificate, "-verify_return_error", "-verify_hostname", "localhost",
                    send=EHLO + MAIL + b"QUIT\r\n")
    assert "Verify return code: 0 (ok)" in text and "250 taken" in text and "221 " in text, text
    protocol, cipher = receiver.takes("Subject: hello\r\n\r\nover TLS\r\n")
    assert protocol == f"TLSv{version}" and f"Cipher is {cipher}\n" in text


@pytest.mark.parametrize("words, why", [
    (["-verify_hostname", "elsewhere.example"], "hostname mismatch"), ([], "self-signed certificate")])
def test_s_client_refuses_who_it_does_not_believe(receiver, words, why):
    roots = ["-CAfile", receiver.certificate] if words else []
    text = s_client(joined(receiver.address), "-starttls", "smtp", "-verify_return_error", *roots, *words,
                    send=EHLO + MAIL)
    assert why in text and "250 taken" not in text


def test_curl_sends_a_mail(receiver, tmp_path):
    (tmp_path / "mail").write_bytes(DOTS.encode())
    subprocess.run([tool("curl"), "--silent", "--show-error", "--ssl-reqd", "--cacert", receiver.certificate,
                    "--mail-from", SENDER, "--mail-rcpt", READER, "--mail-rcpt", "second@example.org", "--upload-file",
                    tmp_path / "mail", f"smtp://localhost:{receiver.port}/client.example.org"], check=True,
                   timeout=PATIENCE_SECONDS)
    receiver.takes(DOTS, [READER, "second@example.org"])


def test_smtplib_sends_mails_with_dots(receiver):
    with receiver.client() as mail:
        for turn in range(3):
            assert not mail.sendmail(SENDER, [READER, f"{turn}@example.org"], DOTS)
            assert receiver.takes(DOTS, [READER, f"{turn}@example.org"])[0] == "TLSv1.3"
        text = "Subject: \N{SNOWMAN}\r\n\r\n" + "\N{SNOWMAN}" * 300 + "\r\n"
        assert not mail.sendmail(SENDER, READER, text.encode(), ["BODY=8BITMIME"])
        receiver.takes(text)


def test_in_the_clear_it_takes_no_mail(receiver):
    with receiver.client(starts=False) as mail:
        assert mail.docmd("STARTTLS")[0] == 503, "EHLO must come first"
        assert mail.ehlo()[0] == 250 and mail.has_extn("STARTTLS")
        for command in (f"MAIL FROM:<{SENDER}>", f"RCPT TO:<{READER}>", "DATA", "RSET", "VRFY reader", "nonsense"):
            assert mail.docmd(command)[0] == 530, command
        assert mail.noop()[0] == 250 and mail.helo()[0] == 250 and mail.quit()[0] == 221


def test_over_tls_what_was_said_before_is_forgotten(receiver):
    with receiver.client() as mail:
        assert mail.docmd(f"MAIL FROM:<{SENDER}>")[0] == 503, "EHLO must be repeated over TLS"
        assert mail.ehlo()[0] == 250 and not mail.has_extn("STARTTLS")
        assert mail.docmd("STARTTLS")[0] == 503
        assert mail.docmd(f"MAIL FROM:<{SENDER}>")[0] == 250


def test_commands_in_a_bad_order_and_no_commands(receiver):
    start, reader = f"mail from:<{SENDER}>", f"rcpt to:<{READER}>"
    with receiver.client() as mail:
        for command, code in [
                ("EHLO", 501), ("EHLO a", 250), (reader, 503), ("DATA", 503), (start, 250), ("DATA", 503), (start, 503),
                (reader, 250), ("RSET", 250), (reader, 503), (start, 250), ("EHLO a", 250), (reader, 503),
                ("MAIL", 501), ("MAIL FROM", 501), ("MAIL FROM:", 501), ("MAIL FROM:a", 501), ("MAIL FROM:<a", 501),
                (start + " AUTH=<>", 555), (start + " SIZE=1000001", 552), (start + " SIZE=99999999999999999999", 552),
                ("MAIL FROM:<> SIZE=1000000", 250), ("RCPT TO:<>", 501), (reader + " NOTIFY=NEVER", 555),
                ("VRFY reader", 252), ("NOOP at all", 250), ("", 500), ("DATAX", 500)]:
            assert mail.docmd(command)[0] == code, command
        assert [mail.docmd(reader)[0] for _ in range(101)] == [250] * 100 + [452]


def test_a_mail_that_is_too_large_is_refused_and_the_next_one_taken(receiver):
    line = "x" * 998 + "\r\n"
    with receiver.client() as mail, concurrent.futures.ThreadPoolExecutor(1) as pool:
        mail.ehlo()
        for lines, code in [(1000, 250), (1001, 552), (1, 250)]:
            mail.docmd(f"MAIL FROM:<{SENDER}>")
            mail.docmd(f"RCPT TO:<{READER}>")
            said = pool.submit(mail.data, line * lines)  # the answer comes only after the mail was printed
            if code == 250:
                receiver.takes(line * lines)
            assert said.result(PATIENCE_SECONDS)[0] == code


@pytest.mark.parametrize("line", [
    b"x" * 1001, b"NOOP\n", b"NOOP\rNOOP\r\n", b"text\r\n.\nMAIL FROM:<a@b>\r\n", b"." * 1000 + b"\r\n"])
@pytest.mark.parametrize("in_data", [False, True])
def test_lines_have_a_bound_and_one_sort_of_end(receiver, line, in_data):
    """Some programs take a dot on a line with another end for the end of the mail, others do not (CVE-2023-51764)."""
    with receiver.by_hand() as peer:
        peer.socket.sendall(EHLO + START)
        assert (hear(peer.socket)[:4], hear(peer.socket)[:4]) == ("250 ", "220 ")
        peer.shake_hands()
        mail = EHLO + MAIL.partition(b"Subject")[0]
        peer.send((mail if in_data else b"") + line + b"\r\n.\r\n")
        said = peer.read_to_the_mark()
        assert said.endswith(b"500 a line has at most 1000 bytes, and CR LF at its end alone\r\n"), said
        assert b"250 taken" not in said


@pytest.mark.parametrize("line", ["y" * 998, "." + "y" * 997, ".", "." * 998])
def test_the_longest_line_may_begin_with_a_dot(receiver, line):
    with receiver.client() as mail:
        assert not mail.sendmail(SENDER, READER, line + "\r\n")
        receiver.takes(line + "\r\n")


def ended_after_the_go_ahead(peer):
    """Checks that nothing in the clear follows the receiver's go-ahead, at most an alert, and that no TLS began."""
    said = read_all(peer)
    clear, _, rest = said.partition(b"220 go ahead\r\n")
    assert said.startswith(b"250-") and clear.count(b"250 ") == 1
    assert rest == b"" or (rest[0] == 21 and len(rest) == 7), rest


@pytest.mark.parametrize("injected", [MAIL, b"RSET\r\n", b"\r\n", b"x"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_pipelined_behind_starttls_is_never_done(receiver, injected, at_once):
    """CVE-2011-0411: somebody on the way puts a command before the client's TLS begins."""
    with receiver.by_hand() as peer:
        hello = hello_of(receiver.context())
        pieces = [EHLO + START + injected + hello] if at_once else [EHLO + START[:4], START[4:] + injected, hello]
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                peer.socket.sendall(piece)
            ended_after_the_go_ahead(peer.socket)
    with receiver.client() as mail:
        assert not mail.sendmail(SENDER, READER, "after it\r\n")
    receiver.takes("after it\r\n")


def test_a_hello_that_does_not_wait_for_the_go_ahead_is_good(receiver):
    with receiver.by_hand() as peer:
        peer.socket.sendall(EHLO + START)
        with contextlib.suppress(ssl.SSLWantReadError):
            peer.tls.do_handshake()
        peer.flush()
        assert (hear(peer.socket)[:4], hear(peer.socket)[:4]) == ("250 ", "220 ")
        peer.shake_hands()
        peer.send(EHLO + MAIL + b"QUIT\r\n")
        assert peer.read_to_the_mark().endswith(b"\r\n250 taken\r\n221 good-bye\r\n")
    receiver.takes("Subject: hello\r\n\r\nover TLS\r\n")


def test_clients_that_leave_at_any_moment_leave_nothing(receiver):
    pid = receiver.program.process.pid
    with receiver.client() as mail:
        assert mail.noop()[0] == 250
        before = len(open_files(pid)) - 1  # without this connection
    for said in (b"", EHLO, EHLO + START, EHLO + START + b"\x16\x03\x01"):
        with receiver.by_hand() as peer:
            peer.socket.sendall(said)
    wait_until(lambda: len(open_files(pid)) == before, "the receiver's fds are closed")


@pytest.mark.parametrize("words, code, why", [
    ([], 2, "usage: smtp_receiver CERTIFICATE KEY"), (["no.pem", "no.key"], 1, "no.pem"),
    (["{own}", "{own}"], 1, "{own}")])
def test_a_receiver_that_cannot_begin_says_why(tmp_path, words, code, why):
    own, _ = self_signed(tmp_path)
    ended, out, errors = run_program("smtp_receiver", *(word.format(own=own) for word in words))
    assert (ended, out) == (code, "") and why.format(own=own) in errors
