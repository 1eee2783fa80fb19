# SPDX-License-Identifier: BSD-3-Clause
"""`openssl s_client` against servers of peal: versions, ciphers, names, sessions, ends, and what must be refused."""
import contextlib
import hashlib
import subprocess

import pytest

from programs import PATIENCE_SECONDS, Program, joined, tool
from tls_parties import GET, GET_AND_CLOSE, LARGE, PAGE, Authority, https_site, read_until, s_client

VERSIONS = ["-tls1_2", "-tls1_3"]


def ask(site, *words):
    """Fetches the page on a verified connection, which the server then ends. Returns what s_client printed."""
    text = s_client(site.place, "-servername", "localhost", "-CAfile", site.certificate, "-verify_return_error",
                    "-verify_hostname", "localhost", *words, send=GET_AND_CLOSE)
    assert PAGE.decode() in text and "Verify return code: 0 (ok)" in text, text
    return text


class Dialogue:
    """s_client as a user at a keyboard would use it."""

    def __init__(self, place, *words):
        self.process = subprocess.Popen([tool("openssl"), "s_client", "-connect", place, *map(str, words)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.text = ""

    def type(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def until(self, words, times=1):
        """Reads until `words` were printed so many times."""
        missing = times - self.text.count(words)
        if missing > 0:
            self.text += read_until(self.process.stdout, *[words.encode()] * missing).decode(errors="replace")


@contextlib.contextmanager
def dialogue(place, *words):
    talk = Dialogue(place, *words)
    with talk.process:
        try:
            yield talk
        finally:
            talk.process.kill()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_and_an_end_that_both_sides_mark(site, version):
    text = ask(site, version, "-msg")
    assert f"New, TLSv1.{version[-1]}, Cipher is" in text
    assert "Server Temp Key: X25519" in text
    ends = [line for line in text.splitlines() if "close_notify" in line or line == "closed"]
    assert [line[:3] for line in ends] == ["<<<", "clo", ">>>"], "the server ends first, then the client"


@pytest.mark.parametrize("kind, suites", [
    ("ecdsa", ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"]),
    ("rsa", ["ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"])])
def test_each_cipher_and_no_other(tmp_path, kind, suites):
    with https_site(tmp_path, kind) as own:
        for suite in suites:
            assert f"Cipher is {suite}\n" in ask(own, "-tls1_2", "-cipher", suite)
        for suite in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"):
            assert f"Cipher is {suite}\n" in ask(own, "-tls1_3", "-ciphersuites", suite)
        every = subprocess.run([tool("openssl"), "ciphers", "-tls1_2", "-s", "ALL:@SECLEVEL=0"], check=True,
                               capture_output=True, text=True).stdout.strip().split(":")
        others = ":".join(name for name in every if name not in suites)
        refused = s_client(own.place, "-tls1_2", "-cipher", f"{others}:@SECLEVEL=0", send=GET)
        assert "alert handshake failure" in refused and "Cipher is (NONE)" in refused


@pytest.mark.parametrize("group, key", [("X25519", "X25519"), ("P-256", "prime256v1"), ("P-384", "secp384r1")])
@pytest.mark.parametrize("version", VERSIONS)
def test_each_curve(tmp_path, version, group, key):
    # with an ECDSA certificate, the client would also have to name the certificate's curve
    with https_site(tmp_path, kind="rsa") as site:
        text = ask(site, version, "-groups", group)
    assert "Server Temp Key: " in text and (key in text or group in text)


def test_the_curve_is_the_servers_choice(site):
    """The server chooses the curve in TLS 1.2. In TLS 1.3, it takes the curve of the client's key share."""
    assert "Server Temp Key: X25519" in ask(site, "-tls1_2", "-groups", "P-384:P-256:X25519")


def test_a_first_key_share_that_is_not_wanted_is_asked_for_anew(site):
    text = ask(site, "-tls1_3", "-groups", "P-521:P-384", "-msg")
    assert text.count("ServerHello") == 2 and "secp384r1" in text


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
def test_old_versions_are_refused_by_an_alert_that_says_so(site, version):
    assert "alert protocol version" in s_client(site.place, version, "-cipher", "ALL:@SECLEVEL=0", send=GET)


@pytest.mark.parametrize("version", VERSIONS)
def test_alpn(site, version):
    assert "ALPN protocol: http/1.1" in ask(site, version, "-alpn", "h2,http/1.1")
    assert "No ALPN negotiated" in ask(site, version)
    assert "alert no application protocol" in s_client(site.place, version, "-alpn", "h2", send=GET)


def test_an_unknown_name_gets_the_first_certificate(site):
    text = s_client(site.place, "-servername", "elsewhere.example", "-CAfile", site.certificate, "-verify_hostname",
                    "elsewhere.example", send=GET_AND_CLOSE)
    assert "subject=CN = localhost" in text and "Verification error: hostname mismatch" in text
    assert PAGE.decode() in s_client(site.place, "-noservername", "-CAfile", site.certificate, send=GET_AND_CLOSE)


def test_five_reconnects_go_on_with_the_first_session(site):
    text = s_client(site.place, "-tls1_2", "-reconnect", send=GET_AND_CLOSE)
    assert (text.count("\nNew, TLSv1.2"), text.count("\nReused, TLSv1.2")) == (1, 5)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_from_a_file(site, tmp_path, version):
    session = tmp_path / "session"
    assert "\nNew, " in ask(site, version, "-sess_out", session)
    assert "\nReused, " in ask(site, version, "-sess_in", session)
    if version == "-tls1_2":
        assert "\nNew, " in ask(site, version, "-sess_in", session, "-no_ticket"), "sessions need tickets"


def test_early_data_is_not_taken(site, tmp_path):
    session, early = tmp_path / "session", tmp_path / "early"
    early.write_bytes(GET)
    ask(site, "-tls1_3", "-sess_out", session)
    assert "Early data was not sent" in ask(site, "-tls1_3", "-sess_in", session, "-early_data", early)


@pytest.mark.parametrize("version, words", [
    ("-tls1_2", ["-maxfraglen", "512"]), ("-tls1_3", ["-maxfraglen", "4096"]), ("-tls1_3", ["-max_send_frag", "512"]),
    ("-tls1_2", ["-read_buf", "100"]), ("-tls1_2", ["-no_etm"]), ("-tls1_2", ["-no_ticket"]), ("-tls1_3", ["-bugs"]),
    ("-tls1_2", ["-nbio"]), ("-tls1_3", ["-nbio"]), ("-tls1_3", ["-status"])])
def test_a_large_file_under_every_option(site, version, words):
    request = GET_AND_CLOSE.replace(b"/page.html", b"/large.bin")
    done = subprocess.run([tool("openssl"), "s_client", "-connect", site.place, "-quiet", version, *words],
                          input=request, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    _, _, body = done.stdout.partition(b"\r\n\r\n")
    assert hashlib.sha256(body).digest() == hashlib.sha256(LARGE).digest(), (len(body), done.stderr)


@pytest.mark.parametrize("command", [b"K\n", b"k\n"])
def test_keys_are_renewed_between_requests(site, command):
    with dialogue(site.place, "-tls1_3", "-msg") as talk:
        talk.until("Verify return code")
        for turn in range(1, 6):
            talk.type(command)
            talk.until("KEYUPDATE", turn)
            talk.type(GET)
            talk.until(PAGE.decode(), turn)
        assert talk.text.count(">>> TLS 1.3, Handshake [length 0005], KeyUpdate") == 5
        answered = talk.text.count("<<< TLS 1.3, Handshake [length 0005], KeyUpdate")
        assert answered == (5 if command == b"K\n" else 0), "K asks the server to renew its keys, too, and k does not"


def test_renegotiation_is_refused_and_what_goes_on_goes_on(site):
    with dialogue(site.place, "-tls1_2") as talk:
        talk.until("Verify return code")
        talk.type(GET)
        talk.until(PAGE.decode())
        talk.type(b"R\n")
        talk.until("no renegotiation")
    ask(site)


@pytest.fixture(name="mutual", scope="module")
def fixture_mutual(tmp_path_factory):
    """Runs a service that requires certificates of one authority.

    Yields its address, the authority, and a client's certificate and key.
    """
    folder = tmp_path_factory.mktemp("mutual")
    authority = Authority(folder)
    with Program("mutual_tls", "serve", authority.certificate, *authority.signs("service"), "127.0.0.1:0") as service:
        yield joined(service.address()), authority, authority.signs("reader")
        assert service.end()[0] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_with_a_certificate_is_known_by_its_name(mutual, version):
    place, authority, (certificate, key) = mutual
    with dialogue(place, version, "-CAfile", authority.certificate, "-verify_return_error", "-cert", certificate,
                  "-key", key) as talk:
        talk.until("Verify return code: 0 (ok)")
        talk.type(b"who am I?\n")
        talk.until("hello, CN=reader")
    assert "Acceptable client certificate CA names\nCN = authority" in talk.text


@pytest.mark.parametrize("version, why", [("-tls1_2", "alert handshake failure"),
                                          ("-tls1_3", "alert certificate required")])
def test_a_client_without_a_certificate_is_refused(mutual, version, why):
    place, authority, _ = mutual
    text = s_client(place, version, "-CAfile", authority.certificate, send=b"who am I?\n")
    assert why in text and "hello" not in text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_certificate_of_somebody_else_is_refused(mutual, tmp_path, version):
    place, authority, _ = mutual
    certificate, key = Authority(tmp_path, "somebody").signs("reader")
    text = s_client(place, version, "-CAfile", authority.certificate, "-cert", certificate, "-key", key,
                    send=b"who am I?\n")
    assert "alert unknown ca" in text and "hello" not in text
