# SPDX-License-Identifier: BSD-3-Clause
"""Tests how a Page handles the browser's answers. The browser is a fake whose answers the test gives."""

import json
import os
import threading
from contextlib import contextmanager

import pytest

from versus.page import browser


def serve(read_fd, write_fd, answers):
    """Answers each command. Navigations get `answers` in turn (None: the page loads)."""
    seen = b""
    while piece := os.read(read_fd, 1 << 16):
        seen += piece
        while b"\0" in seen:
            message, _, seen = seen.partition(b"\0")
            asked = json.loads(message)
            said, events = {"targetId": "1", "sessionId": "1"}, []
            if asked["method"] == "Page.navigate":
                error = answers.pop(0)
                said = {"errorText": error} if error else {}
                events = [{"method": "Network.loadingFailed", "params": said} if error
                          else {"method": "Page.loadEventFired"}]
            for line in [*events, {"id": asked["id"], "result": said}]:
                os.write(write_fd, json.dumps(line).encode() + b"\0")


@contextmanager
def page_of(*answers):
    """Yields a page, and the answers that its browser has left."""
    left = list(answers)
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    thread = threading.Thread(target=serve, args=(their_read, their_write, left))
    thread.start()
    try:
        yield browser.Page(our_read, our_write), left
    finally:
        os.close(our_write)
        thread.join()
        for fd in (their_read, our_read, their_write):
            os.close(fd)


def test_a_load_that_a_network_change_broke_is_tried_again():
    with page_of(browser.NETWORK_CHANGED, browser.NETWORK_CHANGED, None) as (page, left):
        page.visit("https://localhost/")
        assert not left and not page.complaints


def test_any_other_failure_is_reported_at_once():
    with page_of(browser.NETWORK_CHANGED, "net::ERR_CERT_AUTHORITY_INVALID", None) as (page, left):
        with pytest.raises(browser.BrowserFailed, match="^https://localhost/: net::ERR_CERT_AUTHORITY_INVALID.$"):
            page.visit("https://localhost/")
        assert left == [None] and page.complaints == ["net::ERR_CERT_AUTHORITY_INVALID"]


def test_after_several_network_changes_the_failure_is_reported():
    with page_of(*[browser.NETWORK_CHANGED] * browser.MOST_VISITS) as (page, left):
        with pytest.raises(browser.BrowserFailed, match=browser.NETWORK_CHANGED):
            page.visit("https://localhost/")
        assert not left
