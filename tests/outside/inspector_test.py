# SPDX-License-Identifier: BSD-3-Clause
"""The inspector: Prometheus' own parsers read its metrics, and headless Chromium shows its page."""
import json
import os
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open_metrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

from peal_program import PEAL, peal
from programs import PATIENCE_SECONDS, Lines, connect, joined, parted, wait_until
from versus.page import browser


class Served:
    """A server and its inspector. Their addresses are (host, port)."""

    def __init__(self, process, address, page, log=None):
        self.process, self.address, self.page, self.log = process, address, page, log

    def url(self, path):
        return f"http://{joined(self.page)}{path}"

    def get(self, path, **fields):
        request = urllib.request.Request(self.url(path), headers=fields)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.headers, answer.read().decode()

    def client(self):
        return connect(self.address)


@contextmanager
def serving(*words, page="127.0.0.1:0", environment=None):
    command = [PEAL, "serve", "pingpong", "--listen", "127.0.0.1:0", "--inspect", page, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ | (environment or {})) as process:
        try:
            log = Lines(process.stderr)
            inspected = parted(log.until("the inspector listens on ").rpartition(" ")[2])
            address = parted(Lines(process.stdout).until("listening on ").rpartition(" ")[2])
            yield Served(process, address, inspected, log)
        finally:
            process.kill()


def echoed(client, data=b"hello"):
    client.sendall(data)
    assert client.recv(len(data), socket.MSG_WAITALL) == data


def test_both_formats_are_read_by_prometheus_and_tell_the_same():
    with serving("--threads", "2") as served, served.client() as client:
        echoed(client)

        def asked(read, **fields):
            headers, text = served.get("/metrics", **fields)
            families = {family.name: family for family in read(text)}
            # An answer lacks the figures of a loop that a busy machine keeps from answering in time.
            return all(sample.value for sample in families["peal_loop_answers"].samples) and (headers, families)

        headers, families = wait_until(
            lambda: asked(read_open_metrics, Accept="application/openmetrics-text; version=1.0.0"))
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        connections = families["peal_server_connections"].samples
        assert sum(sample.value for sample in connections) == 1
        assert {sample.labels["name"] for sample in connections} == {joined(served.address)}
        turns = families["peal_loop_turn_seconds"]
        assert turns.type == "histogram" and turns.unit == "seconds"
        assert len({sample.labels["loop"] for sample in turns.samples}) == 3
        assert families["process_open_fds"].samples[0].value > 5
        assert families["process_start_time_seconds"].samples[0].value == pytest.approx(time.time(), abs=3600)
        received = sum(sample.value for sample in families["peal_loop_received_bytes"].samples)
        assert received == 5

        headers, older = wait_until(lambda: asked(read_prometheus))
        assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert set(families) - {"peal_build"} == set(older) - {"peal_build_info"}
        assert older["peal_loop_received_bytes"].samples[0].name == "peal_loop_received_bytes_total"


def live(page):
    """Waits until the page of the browser shows figures that its script has fetched."""
    page.until("document.getElementById('status').textContent === 'Live'")


def confirmed(page):
    """Confirms the dialog of an action, and returns the dialog's text."""
    page.until("document.getElementById('confirm').open")
    text = page.value("document.getElementById('confirm-text').textContent")
    page.value("document.getElementById('confirm-yes').click()")
    return text


def pressed(page, key, code):
    for kind in ("keyDown", "keyUp"):
        page.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)


def test_an_enter_key_that_is_held_opens_the_dialog_and_ends_nothing():
    with serving() as served, served.client() as client, browser.opened() as page:
        echoed(client)
        page.visit(served.url("/connections"))
        live(page)
        kill = "[...document.querySelectorAll('#connections button')].find(each => each.textContent === 'kill')"
        page.until(f"Boolean({kill})")
        page.value(f"{kill}.focus()")
        for repeated in (False, True, True, True):
            page.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r", windowsVirtualKeyCode=13,
                     autoRepeat=repeated)
        page.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13)
        assert page.value("document.getElementById('confirm').open")
        assert page.value("document.activeElement.id") == "confirm-no"
        echoed(client)


def test_the_page_shows_a_live_connection_asks_nobody_else_and_ends_it_when_told(tmp_path):
    with serving("--threads", "2", "--flight-recorder", "256", "--stalls", "1s") as served, browser.opened() as page:
        page.visit(served.url("/"))
        live(page)
        assert page.value("document.querySelectorAll('#loops tbody tr').length") == 3
        page.until("document.querySelectorAll('#graphs .graph:not([hidden]) path.line').length >= 8")
        light = page.screenshot(tmp_path / "light.png", whole=True)
        page.theme("dark")
        assert page.screenshot(tmp_path / "dark.png", whole=True) != light
        with served.client() as client:
            echoed(client)
            port = client.getsockname()[1]
            page.visit(served.url(f"/connections?search={port}"))
            live(page)
            rows = "[...document.querySelectorAll('#connections tbody tr')]"
            row = f"{rows}.find(r => r.textContent.includes(':{port}'))"
            page.until(f"Boolean({row})")
            assert page.value("document.getElementById('counts').textContent") == "1 of 1 match."
            connection = page.value(f"({row}).querySelector('a').href")
            page.value(f"[...({row}).querySelectorAll('button')].find(b => b.textContent === 'kill').click()")
            assert connection.rpartition("/")[2] in confirmed(page)
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        page.until(f"!({row})")
        assert "asked to end" in page.until("document.getElementById('outcome').textContent")

        page.visit(connection)
        live(page)
        page.until("document.querySelectorAll('#timeline .event').length >= 4")
        assert "closed" in page.value("document.querySelector('#flight table').textContent")
        origin = served.url("/")
        assert {url for url in page.requests if not url.startswith((origin, "data:"))} == set()
        assert page.complaints == []


def test_every_page_fits_a_desk_and_a_phone():
    with serving("--threads", "2") as served, served.client() as client, browser.opened() as page:
        echoed(client)
        for width in (1280, 400):
            page.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
            for path in ("/", "/servers", "/server/0", "/loops", "/connections", "/stalls", "/threads", "/memory",
                         "/build"):
                page.visit(served.url(path))
                live(page)
                assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), (path, width)
        assert page.complaints == []


def test_arrow_keys_read_the_values_of_a_graph():
    with serving() as served, browser.opened() as page:
        page.visit(served.url("/"))
        live(page)
        page.until("samples.times.length >= 2")
        page.value("document.querySelector('.plot').focus()")
        pressed(page, "ArrowLeft", 37)
        said = page.until("document.querySelector('.graph output').textContent")
        assert re.fullmatch(r"\d\d:\d\d:\d\d: received .+/s, sent .+/s", said), said
        page.until("document.querySelectorAll('#graphs .cursor').length >= 4")
        pressed(page, "Escape", 27)
        page.until("document.querySelectorAll('#graphs .cursor').length === 0")


def test_chosen_columns_are_in_the_address():
    with serving() as served, browser.opened() as page:
        page.visit(served.url("/loops?columns=loop,spins"))
        live(page)
        headings = "[...document.querySelectorAll('#loops th')].map((each) => each.dataset.key)"
        assert page.value(headings) == ["loop", "spins"]
        page.value("document.querySelector('#loops .menu input[value=wakeups]').click()")
        assert sorted(page.value(headings)) == ["loop", "spins", "wakeups"]
        assert "wakeups" in page.value("location.search")


def test_the_log_level_and_a_drain_from_the_page():
    with serving() as served, browser.opened() as page:
        page.visit(served.url("/loops"))
        page.until("document.getElementById('level').value === 'info'")
        page.visit(served.url("/"))
        page.until("document.querySelectorAll('#servers tbody button').length === 1")
        assert page.value("document.getElementById('level').value") == "info"
        page.value("level.value = 'error'; level.dispatchEvent(new Event('change'))")
        page.until("document.getElementById('outcome').textContent.includes('the log level is error')")
        assert json.loads(served.get("/json")[1])["log"]["level"] == "error"
        page.value("document.querySelector('#servers tbody button').click()")
        assert "0 connections" in confirmed(page)
        page.until("document.getElementById('outcome').textContent.includes('drains')")
        with pytest.raises(ConnectionRefusedError):
            while True:
                served.client().close()
        page.value("""window.cell = (key, value) => {
            const td = element('td');
            showValue(td, key, value, {});
            return td;
        }""")
        assert page.value("cell('state', 'STALLED').className") == "bad"
        assert page.value("cell('name', '<b>x</b>').children.length") == 0, "a name is shown as text, never as HTML"
        assert page.complaints == []


def test_methods_of_a_server_are_a_table_below_the_servers_while_there_are_some():
    with serving() as served, browser.opened() as page:
        page.visit(served.url("/servers"))
        live(page)
        server = "{server: 0, name: 'rpc', methods: [{method: '<b>x</b>', calls: 3, latency_p99_seconds: 0.002}]}"
        shown = page.value(f"""(() => {{
            showSections({{servers: [{server}], log_level: 'info'}});
            return [...document.querySelectorAll('#servers + #methods tr')].map((row) =>
                [...row.children].map((each) => each.textContent));
        }})()""")
        assert shown == [["server", "name", "method", "calls", "latency p99"], ["0", "rpc", "<b>x</b>", "3", "2 ms"]]
        # The next answer of this server has no methods, so the table disappears again.
        page.until("document.getElementById('methods') === null")
        assert page.value("[...document.querySelectorAll('main > section')].map((each) => each.id)") == ["servers"]
        assert page.complaints == []


def test_without_scripts_it_is_a_table_of_that_moment():
    with serving() as served, served.client() as client, browser.opened() as page:
        echoed(client)

        def shown():
            page.ask("Emulation.setScriptExecutionDisabled", value=True)
            page.visit(served.url("/connections"))
            page.ask("Emulation.setScriptExecutionDisabled", value=False)
            return page.value("document.getElementById('connections').textContent")

        # The page shows no connection of a loop that a busy machine keeps from answering in time.
        wait_until(lambda: f":{client.getsockname()[1]}" in shown())
        assert page.value("document.querySelectorAll('#connections tbody tr').length") == 1
        assert page.value("document.getElementById('status').textContent").startswith("A snapshot")
        assert page.value("document.getElementById('actions').hidden")


def test_a_page_whose_server_is_gone_says_so():
    with serving() as served, browser.opened() as page:
        page.visit(served.url("/"))
        live(page)
        served.process.kill()
        page.until("document.body.classList.contains('lost')")
        assert page.value("document.getElementById('status').textContent").startswith("No answer")


def test_a_stalled_loop_is_shown_while_it_stalls_and_what_held_it_afterwards():
    command = [PEAL.parent / "examples" / "inspected", "127.0.0.1:0", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            printed = Lines(process.stdout)
            address = parted(printed.until("listening on ").rpartition(" ")[2])
            page = parted(printed.until("the page is at ").rpartition("/")[0].rpartition("/")[2])
            served = Served(process, address, page)

            def shown():
                return json.loads(served.get("/json")[1])

            wait_until(lambda: shown()["loops"][0]["state"] == "answers")
            with served.client() as client:
                client.sendall(b"GET /stall HTTP/1.1\r\nHost: x\r\n\r\n")
                wait_until(lambda: shown()["loops"][0]["state"] == "STALLED")
                assert client.recv(12) == b"HTTP/1.1 200"
            wait_until(lambda: shown()["loops"][0]["state"] == "answers")
            wait_until(lambda: shown()["stalls"])
            stall, = shown()["stalls"]
            assert "inspected.cc" in stall["stack"] and stall["lasting_seconds"] > 0.1
        finally:
            process.kill()


def outside_address():
    """Returns an address of this machine that is not a loopback address, or None if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends no packet
        except OSError:
            return None
        return probe.getsockname()[0]


def status_of_action(host, port, **fields):
    request = urllib.request.Request(f"http://{host}:{port}/actions/log_level?level=error", method="POST",
                                     headers={"Peal-Action": "1"} | fields)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_who_comes_from_elsewhere_needs_a_token():
    host = outside_address()
    if host is None or host.startswith("127."):
        pytest.skip("this machine has only its loopback")
    with serving(page="0.0.0.0:0") as served:
        assert status_of_action(host, served.page[1]) == 403
        assert status_of_action("127.0.0.1", served.page[1]) == 200
    with serving(page="0.0.0.0:0", environment={"PEAL_INSPECT_TOKEN": "s3cret"}) as served:
        assert status_of_action(host, served.page[1]) == 401
        assert status_of_action(host, served.page[1], Authorization="Bearer s3creT") == 401
        assert status_of_action(host, served.page[1], Authorization="Bearer s3cret") == 200


def test_what_cannot_be_shown_there_is_said_in_one_sentence():
    with serving() as served:
        taken = joined(served.page)
        for words, code, sentence in (
                (["--inspect", "nowhere"], 2, "--inspect 'nowhere': the port is missing"),
                (["--inspect", taken, "--workers", "2"], 2, "--inspect of several workers takes port 0"),
                (["--inspect", taken], 1, "is taken: another program listens there")):
            told = peal("serve", "pingpong", "--listen", "127.0.0.1:0", *words)
            assert told.returncode == code and re.search(sentence, told.stderr), told


def test_a_worker_that_is_drained_is_succeeded_while_its_clients_end():
    with serving("--workers", "1", "--drain", "1h") as served, served.client() as client:
        echoed(client)
        first, page = json.loads(served.get("/json")[1])["process"]["pid"], served.page
        request = urllib.request.Request(served.url("/actions/drain?server=0"), method="POST",
                                         headers={"Peal-Action": "1"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 202
        assert client.recv(1) == b"", "the drained worker asks its client to end"
        served.page = parted(served.log.until("the inspector listens on ").rpartition(" ")[2])
        with served.client() as other:
            echoed(other)
            assert json.loads(served.get("/json")[1])["process"]["pid"] != first
        served.page = page
        assert json.loads(served.get("/json")[1])["process"]["pid"] == first, "the old worker waits for its client"
