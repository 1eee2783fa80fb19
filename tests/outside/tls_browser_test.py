# SPDX-License-Identifier: BSD-3-Clause
"""Chromium, and Python's `websockets`, over TLS: a page of the https site with a script that fetches a large file, and
the chat room by wss."""
import asyncio
import base64
import hashlib
import ssl
import subprocess

import pytest
import websockets

from tls_parties import LARGE, PATIENCE_SECONDS, Program, https_site, joined, self_signed, tool
from versus.page import browser

with_a_browser = pytest.mark.skipif(browser.program() is None, reason="chromium is not installed")


def key_of(certificate):
    """The SHA-256 of its public key (SubjectPublicKeyInfo) in base64, by which Chromium is told to believe it."""
    pem = subprocess.run([tool("openssl"), "x509", "-in", certificate, "-noout", "-pubkey"], check=True,
                         capture_output=True).stdout
    der = subprocess.run([tool("openssl"), "pkey", "-pubin", "-outform", "DER"], input=pem, check=True,
                         capture_output=True).stdout
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


def believing(certificate):
    """A browser for which this certificate, and no other, is good."""
    return browser.opened(f"--ignore-certificate-errors-spki-list={key_of(certificate)}")


@with_a_browser
def test_a_page_and_a_large_file(tmp_path):
    with https_site(tmp_path) as site, believing(site.certificate) as page:
        (tmp_path / "root" / "index.html").write_text("""
            <!doctype html><link rel="icon" href="data:,"><title>wait</title>
            <script>
            async function look() {
              const get = (n) => fetch(`large.bin?${n}`).then((answer) => answer.arrayBuffer());
              const parts = await Promise.all([1, 2, 3].map(get));
              const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', parts[2]));
              document.title = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
            }
            look();
            </script>""", encoding="utf-8")
        page.visit(site.url)
        page.until("document.title !== 'wait'")
        assert page.value("document.title") == hashlib.sha256(LARGE).hexdigest()
        assert page.value("isSecureContext && location.protocol") == "https:"
        assert page.value("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "http/1.1"
        assert not page.complaints


@with_a_browser
def test_a_certificate_that_is_not_believed(tmp_path):
    other, _ = self_signed(tmp_path, "other")
    with https_site(tmp_path) as site, believing(other) as page:
        with pytest.raises(browser.BrowserFailed, match="ERR_CERT_AUTHORITY_INVALID"):
            page.visit(site.url)


@pytest.fixture(name="room")
def fixture_room(tmp_path):
    """The place of a chat room, and its certificate."""
    certificate, key = self_signed(tmp_path)
    with Program("websocket_chat", "127.0.0.1:0", "auto", "-", certificate, key) as room:
        yield joined(room.address()), certificate
        assert room.end()[0] == 0


def run(play):
    asyncio.run(asyncio.wait_for(play, PATIENCE_SECONDS))


def test_wss_by_python(room):
    place, certificate = room
    context = ssl.create_default_context(cafile=certificate)

    async def play():
        async with websockets.connect(f"wss://{place}/chat", ssl=context) as one:
            async with websockets.connect(f"wss://{place}/chat", ssl=context) as two:
                assert [await one.recv(), await one.recv(), await two.recv()] == ["* 1 here", "* 2 here", "* 2 here"]
                for text in ("hello", "x" * 4000):
                    await one.send(text)
                    assert [await one.recv(), await two.recv()] == [text, text]
                await two.close(1000, "done")
                assert two.close_code == 1000
            assert await one.recv() == "* 1 here"
    run(play())


@with_a_browser
def test_the_chat_by_wss(room):
    place, certificate = room
    context = ssl.create_default_context(cafile=certificate)
    shown = "[...document.querySelectorAll('#said li')].map(line => line.textContent)"
    with believing(certificate) as page:
        page.visit(f"https://{place}/")
        page.until("document.getElementById('state').textContent === 'connected, compressed'")
        assert page.value("socket.url") == f"wss://{place}/chat"

        async def play():
            async with websockets.connect(f"wss://{place}/chat", ssl=context) as peer:
                assert await peer.recv() == "* 2 here"
                page.value("""document.getElementById('text').value = 'hi \\u20ac';
                              document.getElementById('form').requestSubmit()""")
                assert await peer.recv() == "somebody: hi \u20ac"
                await peer.send("peer: " + "ring " * 200)
                page.until(f"{shown}.length === 4")
        run(play())
        assert page.value(shown)[1:4] == ["* 2 here", "somebody: hi \u20ac", "peer: " + "ring " * 200]
        assert not page.complaints
