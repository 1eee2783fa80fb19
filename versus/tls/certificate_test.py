# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the files for servers over TLS: made once, by the program or otherwise by openssl, and given only to these
servers."""

import ssl
import subprocess

import pytest

from versus import fakes, roster
from versus.tls import certificate


def made_by(folder, script):
    return fakes.write_program(folder / "peal", f"#!/bin/sh\n{script}\n")


def test_the_program_makes_the_certificate_if_it_can(tmp_path):
    program = made_by(tmp_path, 'test "$1 $2 $3 $4" = "tls self-signed --name localhost" || exit 2\n'
                                'while [ $# -gt 0 ]; do\ncase "$1" in --out-*) echo "$1" >"$2"; esac\nshift\ndone')
    files = certificate.made_in(tmp_path / "tls", program)
    assert files.certificate.read_text() == "--out-cert\n" and files.key.read_text() == "--out-key\n"


def test_openssl_makes_the_certificate_if_the_program_cannot(tmp_path):
    files = certificate.made_in(tmp_path / "tls", made_by(tmp_path, "exit 2"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    told = subprocess.run(["openssl", "x509", "-in", str(files.certificate), "-noout", "-text"], capture_output=True,
                          text=True, check=True).stdout
    assert "prime256v1" in told and "DNS:localhost" in told and "127.0.0.1" in told


def test_a_certificate_that_exists_is_kept(tmp_path):
    first = certificate.made_in(tmp_path, "/nowhere/peal")
    before = first.certificate.read_bytes()
    assert certificate.made_in(tmp_path, "/nowhere/peal").certificate.read_bytes() == before
    assert (first.root / certificate.FILE).stat().st_size == 1 << 20


def test_if_neither_can_make_a_certificate_the_error_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(certificate.NoCertificate, match="cannot make a certificate in .*openssl: No such file"):
        certificate.made_in(tmp_path / "tls", "/nowhere/peal")


def test_only_servers_over_tls_get_the_certificate(tmp_path):
    files = certificate.TlsFiles(tmp_path)
    given = {each.name: each for each in files.given_to(roster.built_in(tmp_path))}
    told = given["raw-tls"].words("127.0.0.1", 7, 2)
    assert told[1:] == ["--listen", "127.0.0.1:7", "--threads", "2", "--tls-cert", f"{tmp_path}/cert.pem", "--tls-key",
                        f"{tmp_path}/key.pem"]
    assert given["https-nginx"].words("127.0.0.1", 7, 2)[0].endswith("/http_nginx")
    assert given["https-peal-epoll"].words("h", 7, 1)[1:3] == ["serve", "http"]
    assert not given["raw-epoll"].files and "--tls-cert" not in given["http-nginx"].words("h", 1, 1)


def test_a_contender_of_your_own_uses_its_own_options_for_the_certificate(tmp_path):
    mine = roster.given("https:mine=./s --port {port} --pem {cert} --key={key} --from {root}")
    told = certificate.TlsFiles(tmp_path).given_to([mine])[0].words("h", 7, 1)
    assert told == ["./s", "--port", "7", "--pem", f"{tmp_path}/cert.pem", f"--key={tmp_path}/key.pem", "--from",
                    f"{tmp_path}/root"]
    assert mine.kind == roster.HTTPS
