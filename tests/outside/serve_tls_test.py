# SPDX-License-Identifier: BSD-3-Clause
"""`peal tls self-signed`, `peal serve` and `peal load` over TLS.

The other sides are peal itself, openssl, curl, nginx and Python's ssl.
"""
import contextlib
import json
import os
import re
import signal
import ssl
import stat
import subprocess

import pytest

from peal_program import PEAL, peal
from programs import PATIENCE_SECONDS, connect, read_exactly, tool, wait_until
from tls_parties import Authority, self_signed

HELLO = b"Hello, World!"
NGINX = PEAL.parent / "contenders" / "http_nginx"
LOAD_DURATIONS = ["200ms", "2s", "10s"]  # the longer ones are for a machine that is too busy


def run(*words, send=b""):
    """Runs a program, which may fail. Returns its exit code, its stdout and its stderr."""
    done = subprocess.run([*map(str, words)], input=send, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class Serving:
    """A server that prints its address. `errors` has its log after it has ended."""

    def __init__(self, process):
        self.process = process
        self.place = process.stdout.readline().strip().removeprefix("listening on ")
        self.port = int(self.place.rpartition(":")[2])
        self.errors = ""

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)

    def end(self):
        self.process.terminate()
        _, self.errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0, self.errors
        return self.errors


@contextlib.contextmanager
def serving(service, certificate, key, *words, listen="127.0.0.1:0", program=(PEAL, "serve")):
    command = [*program, *([service] if service else []), "--listen", listen, "--tls-cert", certificate, "--tls-key",
               key, *words]
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            server = Serving(process)
            yield server
            if process.poll() is None:
                server.end()
        finally:
            process.kill()


def curl(server, *words, host="localhost"):
    return run(tool("curl"), "-sS", "--noproxy", "*", *words, f"https://{host}:{server.port}/")


def s_client(server, *words, send=b"Q\n"):
    """Runs `openssl s_client`. Returns what it printed about the handshake."""
    _, out, errors = run(tool("openssl"), "s_client", "-connect", server.place, "-servername", "localhost", *words,
                         send=send)
    return out.decode(errors="replace") + errors


def shown(server, *words):
    """Returns the serial number of the certificate that the server uses now."""
    leaf = re.search("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", s_client(server, *words), re.DOTALL)
    return serial_of(leaf.group().encode())


def serial_of(pem):
    return run(tool("openssl"), "x509", "-noout", "-serial", send=pem)[1].decode().strip()


def load(*words, enough=lambda report: report["messages"] > 0):
    """Returns the report of a run without errors and failed gates.

    If a busy machine did too little, the run is repeated with a longer duration.
    """
    for duration in LOAD_DURATIONS:
        code, out, errors = run(PEAL, "load", *words, "--warmup", "10ms", "--connections", "4", "--duration", duration,
                                "--json", "-")
        assert out, errors
        report = json.loads(out)
        if enough(report):
            break
    assert [gate for gate in report["gates"] if gate["verdict"] == "INVALID"] == [] and code == 0, errors
    assert report["errors"] == {} and report["came_back"]
    assert report["handshakes"]["done"] == report["lifetime"]["connects"] > 0
    assert report["handshake_ns"]["count"] == report["connect_ns"]["count"]
    return report


@pytest.mark.parametrize("kind,algorithm", [("ecdsa", "id-ecPublicKey"), ("rsa", "rsaEncryption")])
def test_what_self_signed_writes_is_what_openssl_reads(tmp_path, kind, algorithm):
    names = ["example.org", "*.example.org", "192.0.2.7", "2001:db8::7"]
    certificate, key = self_signed(tmp_path, kind=kind, hosts=names)
    text = run(tool("openssl"), "x509", "-in", certificate, "-noout", "-text")[1].decode()
    assert "DNS:example.org, DNS:*.example.org, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7" in text
    assert algorithm in text
    assert run(tool("openssl"), "verify", "-CAfile", certificate, certificate)[1] == f"{certificate}: OK\n".encode()
    of_certificate = run(tool("openssl"), "x509", "-in", certificate, "-noout", "-pubkey")[1]
    assert of_certificate and run(tool("openssl"), "pkey", "-in", key, "-pubout")[1] == of_certificate
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    assert run(tool("openssl"), "x509", "-in", certificate, "-noout", "-checkend", 89 * 86400)[0] == 0
    assert run(tool("openssl"), "x509", "-in", certificate, "-noout", "-checkend", 91 * 86400)[0] == 1


def test_the_lines_that_self_signed_prints_can_be_called(tmp_path):
    done = peal("tls", "self-signed", "--name", "localhost", cwd=tmp_path)
    said = dict(line.split(": peal ", 1) for line in done.stdout.splitlines() if ": peal " in line)
    assert sorted(said) == ["a client that trusts it", "a server that uses it"]
    serve = said["a server that uses it"].replace("127.0.0.1:8443", "127.0.0.1:0").split()
    with subprocess.Popen([PEAL, *serve], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            place = process.stdout.readline().strip().removeprefix("listening on ")
            words = said["a client that trusts it"].replace("127.0.0.1:8443", place).split()
            for duration in LOAD_DURATIONS:
                driven = peal(*words, "--duration", duration, "--warmup", "10ms", cwd=tmp_path)
                if "No message came back" not in driven.stdout:
                    break
            assert (driven.returncode, driven.stderr) == (0, "") and "1 full, 0 resumed" in driven.stdout
        finally:
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("shape", [[], ["--threads", "2"], ["--workers", "2"]], ids=" ".join)
def test_http_for_curl_and_for_load(tmp_path, shape):
    certificate, key = self_signed(tmp_path)
    with serving("http", certificate, key, *shape) as server:
        code, out, errors = curl(server, "-v", "--cacert", certificate)
        assert (code, out) == (0, HELLO)
        assert "ALPN: server accepted http/1.1" in errors and "TLSv1.3" in errors
        code, out, errors = curl(server, "-v", "--http1.0", "--cacert", certificate)
        assert (code, out) == (0, HELLO) and "ALPN: server accepted http/1.0" in errors, "see RFC 7301 3.2"
        assert curl(server)[0] == 60, "curl must not trust a self-signed certificate without --cacert"
        url = f"https://localhost:{server.port}/"
        report = load("http", url, "--tls-ca", certificate, "--expect-body", HELLO.decode())
        assert report["handshakes"]["full"] == 4 and report["handshakes"]["agreed"].startswith("TLSv1.3, TLS_")
        report = load("http", url, "--tls-ca", certificate, "--handshakes", "--tls-resume",
                      enough=lambda report: report["handshakes"]["resumed"] > 0)
        assert report["handshakes"]["resumed"] > 0
        code, out, errors = run(PEAL, "load", "http", url, "--duration", "1s")
        assert (code, out) == (1, b"")
        assert errors == (f"peal: cannot connect to {url}: the handshake failed: the peer's certificate is not "
                          "accepted: self-signed certificate\n")


def test_what_is_sent_to_pingpong_and_echo_comes_back(tmp_path):
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=certificate)
    for service, sent in (("pingpong", b"any bytes"), ("echo", b"\0\0\0\5hello")):
        with serving(service, certificate, key, "--style", "coroutines") as server:
            with connect(("127.0.0.1", server.port)) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as peer:
                    peer.sendall(sent)
                    assert read_exactly(peer, len(sent)) == sent
            load(service, server.place, "--tls", "--tls-ca", certificate, "--size", "100KiB")


def test_several_certificates(tmp_path):
    """Serves certificates for two names, and two kinds of keys for the first name."""
    pairs = [self_signed(tmp_path, "one", "ecdsa", ["localhost"]), self_signed(tmp_path, "two", "rsa", ["localhost"]),
             self_signed(tmp_path, "three", "ecdsa", ["*.example.org"])]
    more = [word for certificate, key in pairs[1:] for word in ("--tls-cert", certificate, "--tls-key", key)]
    one, two, three = (serial_of(certificate.read_bytes()) for certificate, _ in pairs)
    with serving("http", *pairs[0], *more) as server:
        assert shown(server, "-sigalgs", "ECDSA+SHA256") == one
        assert shown(server, "-sigalgs", "rsa_pss_rsae_sha256") == two
        assert shown(server, "-servername", "www.example.org") == three
        assert shown(server, "-servername", "elsewhere.example") == one, "the first certificate is the default"


@pytest.mark.parametrize("auth", [None, "required", "wanted"])
def test_clients_with_certificates(tmp_path, auth):
    authority = Authority(tmp_path)
    certificate, key = authority.signs("server")
    own, own_key = authority.signs("client")
    stranger, stranger_key = self_signed(tmp_path, "stranger")
    words = ["--tls-client-ca", authority.certificate, *(["--tls-client-auth", auth] if auth else [])]
    with serving("http", certificate, key, *words) as server:
        known = ["--cacert", authority.certificate, "--cert", own, "--key", own_key]
        assert curl(server, *known)[:2] == (0, HELLO)
        code, out, _ = curl(server, "--cacert", authority.certificate)
        assert (code == 0, out) == ((True, HELLO) if auth == "wanted" else (False, b""))
        assert curl(server, "--cacert", authority.certificate, "--cert", stranger, "--key", stranger_key)[0] != 0
        load("http", f"https://localhost:{server.port}/", "--tls-ca", authority.certificate, "--tls-cert", own,
             "--tls-key", own_key)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_reload_at_sighup(tmp_path, workers):
    certificate, key = self_signed(tmp_path)
    session = tmp_path / "session"
    with serving("http", certificate, key, "--workers", workers) as server:
        first = shown(server)
        assert "Reused" not in s_client(server, "-tls1_2", "-sess_out", session)
        trusted = ssl.create_default_context(cafile=certificate)
        with connect(("127.0.0.1", server.port)) as plain:
            with trusted.wrap_socket(plain, server_hostname="localhost") as peer:
                self_signed(tmp_path)
                assert shown(server) == first, "the server must not read the new file before SIGHUP"
                # Keeps the connection busy. Otherwise its old worker would end it after drain_grace.
                peer.sendall(b"GET / HTTP/1.1\r\n")
                server.hang_up()
                wait_until(lambda: shown(server) == serial_of(certificate.read_bytes()), "the new certificate is shown")
                peer.sendall(b"Host: localhost\r\n\r\n")
                assert peer.recv(65536).startswith(b"HTTP/1.1 200 "), "an open connection must survive the reload"
        assert "Reused, TLSv1.2" in s_client(server, "-tls1_2", "-sess_in", session), "old tickets are accepted"
        second = shown(server)
        key.write_text("no key", encoding="utf-8")
        server.hang_up()
        assert shown(server) == second
        self_signed(tmp_path)
        wait_until(lambda: server.hang_up() or shown(server) != second, "the third certificate is shown")
        server.end()
    assert "the certificates were read again: new connections use the files as they are now" in server.errors


def test_a_broken_file_leaves_what_is_in_use_and_is_named(tmp_path):
    certificate, key = self_signed(tmp_path)
    with serving("http", certificate, key, "--tls-watch") as server:
        first = shown(server)
        log = []
        key.write_text("no key", encoding="utf-8")
        while not log:  # the watched file is read again within about a second
            line = server.process.stderr.readline()
            log += [line] if "stay in use" in line else []
        assert str(key) in log[0] and " error " in log[0]
        assert shown(server) == first
        self_signed(tmp_path)
        wait_until(lambda: shown(server) == serial_of(certificate.read_bytes()), "the good one is shown")


def test_sessions_go_on_with_the_next_program_by_the_secret(tmp_path):
    certificate, key = self_signed(tmp_path)
    secret, session = tmp_path / "secret", tmp_path / "session"
    secret.write_bytes(os.urandom(48))
    with serving("http", certificate, key, "--tls-ticket-secret", secret) as server:
        assert "New, TLSv1.2" in s_client(server, "-tls1_2", "-sess_out", session)
    with serving("http", certificate, key, "--tls-ticket-secret", secret, "--workers", "2") as server:
        assert "Reused, TLSv1.2" in s_client(server, "-tls1_2", "-sess_in", session)
    with serving("http", certificate, key) as server:
        assert "New, TLSv1.2" in s_client(server, "-tls1_2", "-sess_in", session)
    secret.write_bytes(b"short")
    code, out, errors = run(PEAL, "serve", "http", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key",
                            key, "--tls-ticket-secret", secret)
    assert (code, out) == (1, b"") and str(secret) in errors


def test_an_ocsp_response_is_stapled(tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.signs("server")
    serial = serial_of(certificate.read_bytes()).removeprefix("serial=")
    index, request, response = tmp_path / "index", tmp_path / "request", tmp_path / "response"
    index.write_text(f"V\t491231235959Z\t\t{serial}\tunknown\t/CN=server\n", encoding="utf-8")
    ocsp = [tool("openssl"), "ocsp"]
    code, _, errors = run(*ocsp, "-issuer", authority.certificate, "-cert", certificate, "-reqout", request,
                          "-no_nonce")
    assert code == 0, errors
    code, _, errors = run(*ocsp, "-index", index, "-CA", authority.certificate, "-rsigner", authority.certificate,
                          "-rkey", authority.key, "-reqin", request, "-respout", response, "-ndays", "1")
    assert code == 0 and response.exists(), errors
    with certificate.open("ab") as chain:  # identifies the issuer of the OCSP response
        chain.write(authority.certificate.read_bytes())
    with serving("http", certificate, key, "--tls-ocsp", response) as server:
        assert "OCSP Response Status: successful" in s_client(server, "-status")
        assert curl(server, "--cacert", authority.certificate, "--cert-status")[:2] == (0, HELLO)


def test_load_drives_nginx_over_tls(tmp_path):
    if not NGINX.exists():
        pytest.skip(f"{NGINX} was not built")
    certificate, key = self_signed(tmp_path)
    with serving("", certificate, key, program=[NGINX]) as server:
        url = f"https://localhost:{server.port}/collect?v=1"
        load("http", url, "--tls-ca", certificate)
        load("http", url, "--tls-ca", certificate, "--pipeline", "8", "--requests-per-connection", "20")
        report = load("http", url, "--tls-ca", certificate, "--handshakes")
        assert report["handshakes"]["resumed"] == 0
        report = load("http", url, "--tls-ca", certificate, "--handshakes", "--tls-resume",
                      enough=lambda report: report["handshakes"]["resumed"] > 0)
        assert report["handshakes"]["resumed"] > 0


def test_a_duel_of_servers_that_it_starts(tmp_path):
    certificate, key = self_signed(tmp_path)
    server = f"{PEAL} serve http --listen {{listen}} --tls-cert {certificate} --tls-key {key}"
    code, out, errors = run(PEAL, "load", "duel", "http", "--tls", "--tls-ca", certificate, "--handshakes", "--run",
                            f"a={server}", "--run", f"b={server} --threads 2", "--slice", "20ms", "--rounds", "2",
                            "--restarts", "1", "--json", "-")
    report = json.loads(out)
    assert code in (0, 3), errors  # the machine may be too busy for a valid result
    for contender in report["contenders"]:
        assert contender["handshakes"]["done"] == contender["handshake"]["count"] > 0
        assert contender["handshakes"]["resumed"] == 0 and contender["handshakes"]["failed"] == 0
        assert contender["layer"] == "TLS, full handshakes"
