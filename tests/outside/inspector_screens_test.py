# SPDX-License-Identifier: BSD-3-Clause
"""Takes the screens of docs/inspector.md, of the example `inspected` under a little traffic.

The test takes each screen and checks that the document shows one of the same name and width. `make screens` runs the
same with PEAL_SCREENS set: it waits for a minute of samples and writes the screens to that folder.
"""
import http.client
import os
import re
import struct
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector_test import Served, live
from peal_program import PEAL
from programs import PATIENCE_SECONDS, Lines, parted
from versus.page import browser

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
TARGET = os.environ.get("PEAL_SCREENS")
SAMPLES = 60 if TARGET else 2
# The name of each screen, the width of the window, the theme, and the page. {id} is a connection.
SCREENS = {
    "inspector-overview": (1280, "light", "/"),
    "inspector-server": (1280, "light", "/server/0"),
    "inspector-route": (1280, "dark", "/route?server=0&name=GET%20%2Freport%2F%7Bms%3Auint%7D"),
    "inspector-connection": (1280, "light", "/connection/{id}"),
    "inspector-stalls": (1280, "light", "/stalls"),
    "inspector-phone": (400, "light", "/server/0"),
}
PATHS = ("/", "/users/7", "/", "/report/4", "/users/12", "/users/700", "/", "/report/40", "/nowhere", "/users/3")


def asks(address, stop, path=None):
    """Sends requests until `stop` is set. With a path, sends one for that path, and keeps the connection open."""
    client = http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)
    sent = 0
    while path is None or sent == 0:
        client.request("GET", path or PATHS[sent % len(PATHS)])
        client.getresponse().read()
        sent += 1
        if stop.wait(0.005):
            break
    stop.wait()
    client.close()


@contextmanager
def inspected():
    """Runs the example with two clients that send requests all the time, and one that had a slow answer."""
    command = [PEAL.parent / "examples" / "inspected", "127.0.0.1:0", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        stop = threading.Event()
        clients = []
        try:
            printed = Lines(process.stdout)
            address = parted(printed.until("listening on ").rpartition(" ")[2])
            page = parted(printed.until("the page is at ").rpartition("/")[0].rpartition("/")[2])
            clients = [threading.Thread(target=asks, args=(address, stop, path))
                       for path in (None, None, "/report/700", "/stall")]
            for client in clients:
                client.start()
            yield Served(process, address, page)
        finally:
            stop.set()
            for client in clients:
                client.join()
            process.kill()


def width_of(image):
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">I", image[16:20])[0]


def shown(page, served, width, theme, path):
    """Shows a page when it has enough samples."""
    if "{id}" in path:
        page.visit(served.url("/connections?sort=received"))
        page.until("document.querySelectorAll('#connections tbody a').length > 0")
        path = page.value("new URL(document.querySelector('#connections tbody a').href).pathname")
    page.theme(theme)
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
    page.visit(served.url(path))
    live(page)
    page.until(f"samples.newest >= {SAMPLES} || page.graphs.length === 0")
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), path


def test_the_screens_of_the_document_are_those_of_the_pages(tmp_path):
    with inspected() as served, browser.opened() as page:
        page.visit(served.url("/stalls"))
        page.until("document.querySelectorAll('#stalls tbody pre').length > 0")
        for name, (width, theme, path) in SCREENS.items():
            shown(page, served, width, theme, path)
            image = page.screenshot(Path(TARGET or tmp_path) / f"{name}.png", whole=True)
            assert width_of(image) == width
            assert width_of((IMAGES / f"{name}.png").read_bytes()) == width, "run make screens"
        assert page.complaints == []


def test_the_document_shows_every_screen_and_no_other():
    text = (ROOT / "docs/inspector.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(images/(inspector-\w+)\.png\)", text)) == set(SCREENS)
    assert {file.stem for file in IMAGES.glob("inspector-*.png")} == set(SCREENS)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_small_enough_for_a_document(name):
    assert (IMAGES / f"{name}.png").stat().st_size < 250_000
