# SPDX-License-Identifier: BSD-3-Clause
"""The findings of experiments 1 to 4 together. Those of experiment 2 come from the drum itself, those of experiment 5
from the models: models/model_findings.py."""

from dataclasses import asdict

from versus import drum_analysis
from versus.findings import page_findings, pingpong_findings, rest_findings


def of(results: dict) -> list[dict]:
    """Every finding, as plain data, in the order of the experiments; of those the plan left out, too."""
    drummed = (results.get("drum") or {}).get("findings") or drum_analysis.findings([])
    found = [asdict(finding) for module in (pingpong_findings, rest_findings, page_findings)
             for finding in module.of(results)]
    return sorted([*found, *({"experiment": 2} | finding for finding in drummed)], key=lambda row: row["experiment"])
