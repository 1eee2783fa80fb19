# SPDX-License-Identifier: BSD-3-Clause
"""Chromium loads a page of the https site whose script fetches a large file."""
import hashlib

import pytest

from tls_parties import LARGE, believed, https_site, self_signed
from versus.page import browser

pytestmark = pytest.mark.skipif(browser.program() is None, reason="chromium is not installed")


def test_a_page_and_a_large_file(tmp_path):
    with https_site(tmp_path) as site, browser.opened(believed(site.certificate)) as page:
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


def test_a_certificate_that_is_not_believed(tmp_path):
    other, _ = self_signed(tmp_path, "other")
    with https_site(tmp_path) as site, browser.opened(believed(other)) as page:
        with pytest.raises(browser.BrowserFailed, match="ERR_CERT_AUTHORITY_INVALID"):
            page.visit(site.url)
