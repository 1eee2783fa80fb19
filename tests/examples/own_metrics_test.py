# SPDX-License-Identifier: BSD-3-Clause
"""The kitchen that counts its orders: Prometheus' own parser reads what the inspector serves."""
import contextlib
import http.client
import json

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from programs import PATIENCE_SECONDS, Program, answered, parted


@contextlib.contextmanager
def kitchen():
    """The program, with a client of its service and a client of its page."""
    with Program("own_metrics", "127.0.0.1:0", "127.0.0.1:0") as program:
        addresses = [program.address(), parted(program.line().partition("http://")[2].strip("/\n"))]
        clients = [http.client.HTTPConnection(*each, timeout=PATIENCE_SECONDS) for each in addresses]
        with contextlib.closing(clients[0]), contextlib.closing(clients[1]):
            yield clients
        code, _, errors = program.end()
        assert (code, errors) == (0, "")


def test_orders_are_counted_and_prometheus_reads_them():
    with kitchen() as (service, page):
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
