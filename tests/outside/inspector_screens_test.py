# SPDX-License-Identifier: BSD-3-Clause
"""Takes the screens of docs/inspector.md, of the example `inspected` under a little traffic.

The test takes each screen and checks that the document shows one of the same name and width. `make screens` runs the
same with PEAL_SCREENS set: it waits for a minute of samples and writes the screens to that folder.
"""
import http.client
import itertools
import os
import re
import struct
import subprocess
import threading
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector_test import Served, live
from peal_program import PEAL
from programs import PATIENCE_SECONDS, Lines, joined, parted
from versus.page import browser

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
TARGET = os.environ.get("PEAL_SCREENS")
SAMPLES = 62 if TARGET else 2
# The name of each screen, the width and the most height of the window, the theme, and the page. {id} is the connection
# of the client that sends least.
SCREENS = {
    "inspector-overview": (1280, 2000, "light", "/"),
    "inspector-server": (1280, 2000, "light", "/server/0"),
    "inspector-route": (1280, 2000, "dark", "/route?server=0&name=GET%20%2Freport%2F%7Bms%3Auint%7D"),
    "inspector-connection": (1280, 900, "light", "/connection/{id}"),
    "inspector-phone": (400, 1200, "light", "/server/0"),
}
PATHS = ("/", "/users/7", "/", "/report/4", "/users/12", "/users/700", "/", "/report/40", "/nowhere", "/users/3")


def asks(address, stop, pause, paths):
    """Sends requests until `stop` is set, with a pause after each."""
    client = http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)
    for path in itertools.cycle(paths):
        client.request("GET", path)
        client.getresponse().read()
        if stop.wait(pause):
            break
    client.close()


@contextmanager
def inspected():
    """Runs the example with clients that send requests all the time, after two slow requests."""
    command = [PEAL.parent / "examples" / "inspected", "127.0.0.1:0", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        stop = threading.Event()
        clients = []
        try:
            printed = Lines(process.stdout)
            address = parted(printed.until("listening on ").rpartition(" ")[2])
            page = parted(printed.until("the page is at ").rpartition("/")[0].rpartition("/")[2])
            for path in ("/report/700", "/stall"):
                urllib.request.urlopen(f"http://{joined(address)}{path}", timeout=PATIENCE_SECONDS).close()
            clients = [threading.Thread(target=asks, args=(address, stop, pause, PATHS))
                       for pause in (0.005, 0.005, 0.5)]
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


def sized(page, width, height):
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    page.until(f"window.innerHeight === {height}")


def shown(page, served, width, most_height, theme, path):
    """Shows a page when it has enough samples, in a window that is as high as the page, up to a limit."""
    if "{id}" in path:
        page.visit(served.url("/connections?sort=received&order=asc"))
        page.until("document.querySelectorAll('#connections tbody a').length > 0")
        path = page.value("new URL(document.querySelector('#connections tbody a').href).pathname")
    page.theme(theme)
    sized(page, width, 800)
    page.visit(served.url(path))
    live(page)
    for some in range(2, SAMPLES + 1, 10):  # the browser has a limit for each answer
        page.until(f"samples.newest >= {some} || page.graphs.length === 0")
    assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), path
    sized(page, width, min(most_height, page.value("document.documentElement.scrollHeight")))


def test_the_screens_of_the_document_are_those_of_the_pages(tmp_path):
    with inspected() as served, browser.opened() as page:
        page.visit(served.url("/stalls"))
        page.until("document.querySelectorAll('#stalls tbody pre').length > 0")
        for name, (width, most_height, theme, path) in SCREENS.items():
            shown(page, served, width, most_height, theme, path)
            image = page.screenshot(Path(TARGET or tmp_path) / f"{name}.png")
            assert width_of(image) == width
            assert TARGET or width_of((IMAGES / f"{name}.png").read_bytes()) == width, "run make screens"
        assert page.complaints == []


def test_the_document_shows_every_screen_and_no_other():
    text = (ROOT / "docs/inspector.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(images/(inspector-\w+)\.png\)", text)) == set(SCREENS)
    assert {file.stem for file in IMAGES.glob("inspector-*.png")} == set(SCREENS)


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_small_enough_for_a_document(name):
    assert (IMAGES / f"{name}.png").stat().st_size < 400_000
