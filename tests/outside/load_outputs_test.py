# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of `peal load`, read by programs that are not part of peal.

Prometheus' own parser reads OpenMetrics, the lab's decoder reads the HdrHistogram log, and Python reads NDJSON.
"""
import csv
import json

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from peal_program import PEAL, listening, peal
from versus import hdr


@pytest.fixture(name="outputs")
def fixture_outputs(tmp_path):
    """Runs `peal load` once and returns the folder with its outputs."""
    with listening(PEAL, "serve", "pingpong") as (server, target):
        peal("load", "pingpong", target, "--connections", "4", "--duration", "400ms", "--warmup", "20ms", "--interval",
             "50ms", "--rate", "1000/s", "--server-pid", server.pid, "--json", tmp_path / "json", "--ndjson",
             tmp_path / "ndjson", "--hdr", tmp_path / "hdr", "--openmetrics", tmp_path / "metrics")
    return tmp_path


def test_every_output_tells_of_the_same_run(outputs):
    report = json.loads((outputs / "json").read_text())
    assert report["messages"] > 0

    families = {family.name: family for family in
                text_string_to_metric_families((outputs / "metrics").read_text())}
    samples = {(sample.name, sample.labels.get("quantile")): sample.value
               for family in families.values() for sample in family.samples}
    assert samples["peal_load_messages_total", None] == report["messages"]
    assert samples["peal_load_latency_seconds_count", None] == report["latency_ns"]["count"]
    assert samples["peal_load_latency_seconds", "0.999"] == pytest.approx(report["latency_ns"]["p999"] / 1e9)
    assert families["peal_load_latency_seconds"].type == "summary"
    assert families["peal_load_latency_seconds"].unit == "seconds"
    assert "peal_load_server_cpu_seconds" in families

    lines = [json.loads(line) for line in (outputs / "ndjson").read_text().splitlines()]
    assert [line["messages"] for line in lines] == [step["messages"] for step in report["intervals"]]

    rows = [row for row in csv.reader((outputs / "hdr").read_text().splitlines()) if not row[0].startswith("#")]
    assert rows[0] == ["StartTimestamp", "Interval_Length", "Interval_Max", "Interval_Compressed_Histogram"]
    merged = hdr.merged([row[3] for row in rows[1:]])
    whole = hdr.decode(report["latency_ns"]["hdr"])
    assert merged.counts == whole.counts
