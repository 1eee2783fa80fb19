# SPDX-License-Identifier: BSD-3-Clause
"""curl against the https site: curl's options for TLS, and HTTP over TLS."""
import hashlib
import subprocess

import pytest

from programs import PATIENCE_SECONDS, tool
from tls_parties import LARGE, PAGE, key_digest, self_signed

NOT_ACCEPTED = 60  # curl's exit code if it does not trust the certificate
NO_HANDSHAKE = 35


def run(*words):
    """Runs curl. Returns its exit code, its stdout and its stderr."""
    done = subprocess.run([tool("curl"), "-sS", "--noproxy", "*", *map(str, words)], capture_output=True,
                          timeout=PATIENCE_SECONDS, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def fetch(site, *words, path="page.html"):
    """Fetches one path with curl, which trusts the site's certificate. Returns the body."""
    code, out, errors = run("--cacert", site.certificate, *words, f"{site.url}{path}")
    assert code == 0, errors
    return out


def test_the_certificate_is_verified(site, tmp_path):
    assert fetch(site) == PAGE
    code, out, errors = run(site.url + "page.html")
    assert (code, out) == (NOT_ACCEPTED, b"") and "self-signed" in errors
    other, _ = self_signed(tmp_path, "other")
    assert run("--cacert", other, site.url)[0] == NOT_ACCEPTED
    assert run("-k", site.url + "page.html")[1] == PAGE


def test_the_name_is_verified(site):
    place = f"elsewhere.example:{site.port}"
    words = ["--cacert", site.certificate, "--resolve", f"{place}:127.0.0.1"]
    code, _, errors = run(*words, f"https://{place}/page.html")
    assert code == NOT_ACCEPTED and "elsewhere.example" in errors
    assert run(*words, "-k", f"https://{place}/page.html")[1] == PAGE
    assert fetch(site, "--resolve", f"localhost:{site.port}:127.0.0.1") == PAGE
    assert run("--cacert", site.certificate, f"https://127.0.0.1:{site.port}/page.html")[1] == PAGE


def test_a_pinned_key(site):
    assert fetch(site, "--pinnedpubkey", f"sha256//{key_digest(site.certificate)}") == PAGE
    other = "A" * 43 + "="
    assert run("--cacert", site.certificate, "--pinnedpubkey", f"sha256//{other}", site.url)[0] == 90


@pytest.mark.parametrize("words, version", [
    (["--tlsv1.2", "--tls-max", "1.2"], "TLSv1.2"), (["--tlsv1.2"], "TLSv1.3"), (["--tlsv1.3"], "TLSv1.3"),
    (["--tlsv1.2", "--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-CHACHA20-POLY1305"], "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (["--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"], "TLS_CHACHA20_POLY1305_SHA256"),
    (["--tls13-ciphers", "TLS_AES_128_GCM_SHA256"], "TLS_AES_128_GCM_SHA256"),
    (["--curves", "X25519"], "TLSv1.3"), (["--curves", "P-384"], "TLSv1.3"), (["--no-sessionid"], "TLSv1.3"),
    (["--no-alpn"], "did not agree"), (["--http1.1"], "accepted http/1.1"), (["--http2"], "accepted http/1.1"),
    (["--http1.0"], "accepted http/1.0"),
    (["--false-start"], None), (["--tls-earlydata"], None), (["--cert-status"], None)])
def test_options(site, words, version):
    code, out, errors = run("-v", "--cacert", site.certificate, *words, site.url + "page.html")
    if code == 2:
        pytest.skip(f"this curl has no {words[0]}")
    if words == ["--cert-status"]:
        assert code == 91 and "No OCSP response received" in errors
    elif words == ["--false-start"] and code == 4:
        pytest.skip("this curl was built without false start")
    elif words == ["--no-alpn"]:
        assert (code, out) == (0, PAGE) and "ALPN: offers" not in errors
    else:
        assert (code, out) == (0, PAGE) and (version or "") in errors, errors


@pytest.mark.parametrize("words", [["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"],
                                   ["--tls-max", "1.2", "--ciphers", "AES128-SHA"],
                                   ["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-SHA"],
                                   ["--curves", "P-521"]])
def test_what_is_not_spoken_is_refused(site, words):
    code, _, errors = run("--tlsv1.0", "--cacert", site.certificate, *words, site.url)
    assert code == NO_HANDSHAKE and "alert" in errors
    assert fetch(site) == PAGE


def test_head_range_and_a_large_file(site):
    head = fetch(site, "-I", path="large.bin").decode()
    assert f"Content-Length: {len(LARGE)}" in head and "Strict-Transport-Security" in head
    assert fetch(site, "-r", "1000000-1099999", path="large.bin") == LARGE[1000000:1100000]
    for version in ("1.2", "1.3"):
        whole = fetch(site, "--tlsv1.2", "--tls-max", version, path="large.bin")
        assert hashlib.sha256(whole).digest() == hashlib.sha256(LARGE).digest()
    assert fetch(site, "--limit-rate", "20M", path="large.bin") == LARGE


def test_a_download_goes_on_where_it_was_cut(site, tmp_path):
    file = tmp_path / "large.bin"
    file.write_bytes(LARGE[:3_000_000])
    fetch(site, "-C", "-", "-o", file, path="large.bin")
    assert file.read_bytes() == LARGE


def test_http_1_0_ends_with_the_marked_end(site):
    for words in (["--http1.0"], ["--http1.0", "--no-alpn"]):
        assert fetch(site, *words, path="large.bin") == LARGE


def test_an_upload_is_refused_by_an_answer(site, tmp_path):
    file = tmp_path / "up"
    file.write_bytes(LARGE)
    for words in (["-T", file], ["-H", "Expect:", "-T", file], ["--data-binary", f"@{file}"]):
        code, out, _ = run("--cacert", site.certificate, *words, "-o", tmp_path / "body", "-w", "%{http_code}",
                           site.url + "page.html")
        assert (out, code) == (b"405", 0), words


def test_one_connection_for_many_requests(site):
    code, out, errors = run("--cacert", site.certificate, *(5 * [site.url + "page.html"]), "-w", "%{num_connects}")
    assert code == 0, errors
    assert out == PAGE + b"1" + 4 * (PAGE + b"0")


def test_many_connections_at_once(site, tmp_path):
    config = tmp_path / "config"
    config.write_text("".join(f'url = "{site.url}large.bin"\noutput = "{tmp_path}/{number}"\n' for number in range(8)),
                      encoding="utf-8")
    code, _, errors = run("--cacert", site.certificate, "--parallel", "--parallel-immediate", "-K", config)
    assert code == 0, errors
    assert all((tmp_path / str(number)).read_bytes() == LARGE for number in range(8))
