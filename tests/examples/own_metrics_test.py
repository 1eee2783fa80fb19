# SPDX-License-Identifier: BSD-3-Clause
"""The kitchen that counts its orders: Prometheus' own parser reads what the inspector serves."""
import contextlib
import http.client
import json

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from programs import PATIENCE_SECONDS, Program, answered, joined, parted
from versus.page import browser


@contextlib.contextmanager
def kitchen():
    """The program, with a client of its service and a client of its page."""
    with Program("own_metrics", "127.0.0.1:0", "127.0.0.1:0") as program:
        addresses = [program.address(), parted(program.line().partition("http://")[2].strip("/\n"))]
        clients = [http.client.HTTPConnection(*each, timeout=PATIENCE_SECONDS) for each in addresses]
        with contextlib.closing(clients[0]), contextlib.closing(clients[1]):
            yield (*clients, addresses[1])
        code, _, errors = program.end()
        assert (code, errors) == (0, "")


def test_orders_are_counted_and_prometheus_reads_them():
    with kitchen() as (service, page, _):
        for order, status in ((b"2 x soup", 200), (b"bread", 200), (b"", 400)):
            answer, _ = answered(service, "POST", "/orders", order, {})
            assert answer.status == status
        accept = {"Accept": "application/openmetrics-text"}
        text = answered(page, "GET", "/metrics", None, accept)[1].decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        orders = {sample.labels["result"]: sample.value for sample in families["orders"].samples}
        assert orders == {"accepted": 2, "refused": 1}
        assert families["orders_cooking"].samples[0].value == 0
        assert (families["order_seconds"].type, families["order_seconds"].unit) == ("histogram", "seconds")
        values = {sample.name: sample.value for sample in families["order_bytes"].samples if "le" not in sample.labels}
        assert values == {"order_bytes_sum": 13, "order_bytes_count": 3}
        assert families["peal_hidden_metrics"].samples[0].value == 0

        shown = json.loads(answered(page, "GET", "/program?format=json", None, {})[1])["metrics"]
        assert [each["name"] for each in shown] == ["order_bytes", "order_seconds", "orders_total", "orders_total",
                                                    "orders_cooking"]
        assert shown[1]["count"] == 2 and shown[1]["p50"] >= 0.02
        table = answered(page, "GET", "/program", None, {})[1].decode()
        assert "\n\nthis program's metrics\n" in table and "result=accepted" in table
        assert table.index(" value ") < table.index(" help")
        html = answered(page, "GET", "/", None, {"Accept": "text/html"})[1].decode()
        assert '<section id="metrics">' in html and "Time from an order until it is ready." in html


def test_the_page_draws_a_graph_of_each_metric(tmp_path):
    with kitchen() as (service, _, address), browser.opened() as page:
        answered(service, "POST", "/orders", b"2 x soup", {})
        page.visit(f"http://{joined(address)}/")
        titles = "[...document.querySelectorAll('#graphs figcaption')].map((each) => each.firstChild.textContent)"
        wanted = ["order seconds, p99 and p50", "orders, per second", "orders cooking"]
        page.until(f"{json.dumps(wanted)}.every((title) => {titles}.includes(title))")
        names = "[...document.querySelectorAll('#graphs .legend')].map((each) => each.textContent).join(' ')"
        page.until(f"{names}.includes('result=accepted')")
        headings = "[...document.querySelectorAll('#metrics th')].map((each) => each.dataset.key)"
        assert page.value(headings) == ["name", "labels", "kind", "value", "count", "p50", "p99", "max", "histogram",
                                        "help"]
        assert page.value("document.querySelector('#metrics h2').textContent") == "this program's metrics"
        page.until("[...document.querySelectorAll('#metrics td')].some((each) => each.textContent === '8 B')")
        assert page.screenshot(tmp_path / "overview.png", whole=True)
        page.visit(f"http://{joined(address)}/program")
        page.until(f"{titles}.length === 4 && document.querySelectorAll('#metrics tbody tr').length === 5")
        for width in (1280, 400):
            page.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
            assert page.value("document.documentElement.scrollWidth <= window.innerWidth"), width
        assert page.complaints == []


def test_the_page_says_how_many_metrics_have_no_graph():
    with kitchen() as (_, _, address), browser.opened() as page:
        page.visit(f"http://{joined(address)}/program")
        page.until("samples.of('metrics').length === 5")
        page.value("""for (let i = 0; i < 20; ++i) {
            samples.rows.set(`metrics/m${i}`, {section: "metrics", facts: {name: `m${i}`, kind: "gauge", labels: {}},
                                               values: {value: samples.times.map(() => i)}});
        }
        addMetricGraphs();""")
        assert page.value("document.querySelectorAll('#graphs .graph').length") == 12
        assert page.value("document.getElementById('more-graphs').textContent").startswith("12 more metrics")
        assert page.complaints == []
