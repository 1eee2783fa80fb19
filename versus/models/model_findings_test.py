# SPDX-License-Identifier: BSD-3-Clause
"""Each published finding about the models can be confirmed and refuted by made-up runs. If it cannot be judged, it says
why."""

import random

import pytest

from versus.models import model_findings, model_plans, model_roster
from versus.findings import AT_BOUND, CONFIRMED, NOT_HERE, REFUTED
from versus.models.model_findings import PERCENTILES, RULES

BLOCKS = 8


class Made:
    """A made-up experiment of published loads with the given speeds: {(cell, contender): requests/s}, within 1 %. The
    speed of `swinging`, a (cell, contender), is 10 % above or below in alternate blocks."""

    def __init__(self, speeds, blocks=BLOCKS, full=(), swinging=()):
        noise = random.Random(3)

        def factor(where, block):
            return 1.0 + 0.1 * (-1) ** block if where == swinging else noise.uniform(0.99, 1.01)

        cells = {cell for cell, _ in speeds}
        self.experiment = {
            "name": model_plans.HISTORIC, "cells": [{"name": cell} for cell in cells],
            "rows": [{"cell": cell, "contender": who, "lower_bound": who in full} for cell, who in speeds],
            "runs": [{"cell": cell, "mode": "closed", "contender": who, "block": block, "status": "ok",
                      "figures": {"messages_per_s": speed * factor((cell, who), block), "latency_hdr": "",
                                  "server_cpu_ns": 1e9 / speed}}
                     for (cell, who), speed in speeds.items() for block in range(blocks)]}

    def found(self):
        return model_findings.of({"experiments": [self.experiment]})


def speeds_of(rule, ratio):
    return {(rule.cells[1], rival): 1000.0 for rival in rule.rivals} | {(rule.cell, rule.subject): 1000.0 * ratio}


def of_rule(rule, ratio, **more):
    """Returns the finding of `rule` if subject / each rival is `ratio`."""
    return model_findings.finding(Made(speeds_of(rule, ratio), **more).experiment, rule)


SPEED_RULES = [rule for rule in RULES if rule.figure == "messages_per_s"]


def sides(bounds):
    """Returns a ratio within the bounds, one outside, and one on the bound."""
    least, most = bounds
    if least == 0.0:
        return 0.5 * most, 2.0 * most, most
    inside = 2.0 * least if most > 1e6 else (least * most) ** 0.5
    return inside, 0.5 * least, least


@pytest.mark.parametrize("rule", SPEED_RULES, ids=lambda rule: f"{rule.cell}:{rule.sentence}"[:60])
def test_every_rule_can_be_confirmed_refuted_or_at_the_bound(rule):
    inside, outside, edge = sides(rule.bounds)
    assert of_rule(rule, inside).verdict == CONFIRMED
    assert of_rule(rule, outside).verdict == REFUTED
    open_ = of_rule(rule, edge, swinging=(rule.cell, rule.subject))
    assert open_.verdict == AT_BOUND


@pytest.mark.parametrize("figure", ["p50", "p95", "p99", "p999"])
def test_two_alike_models_have_a_rule_for_every_figure(figure):
    rules = [rule for rule in RULES if (rule.subject, rule.figure) == ("blocking_leader_follower", figure)]
    assert len(rules) == 1 and rules[0].bounds == model_findings.SAME
    assert model_findings.WORDS[figure] in rules[0].sentence


def test_one_client_is_compared_with_ten():
    rule = next(rule for rule in RULES if rule.rival_cell)
    found = of_rule(rule, 0.17)
    assert found.verdict == CONFIRMED and f"{rule.cell} / {rule.rival_cell}: 0.17" in found.figure
    assert of_rule(rule, 0.17, blocks=4).verdict == NOT_HERE
    alone = Made({(rule.cell, rule.subject): 1.0}).experiment
    assert model_findings.finding(alone, rule).figure == model_findings.NOT_RUN, "one of the two cells is missing"


def test_latency_rules_read_the_histograms(monkeypatch):
    rule = next(rule for rule in RULES if rule.figure == "p50")
    speeds = {(rule.cell, name): 1.0 for name in (rule.subject, *rule.rivals)}
    experiment = Made(speeds).experiment

    def percentiles(_, cell, name, percent):
        assert cell == rule.cell and percent == PERCENTILES["p50"]
        return {block: (3.0 if name == rule.subject else 1.0) * (1 + block / 1000) for block in range(BLOCKS)}

    monkeypatch.setattr(model_findings, "_percentile", percentiles)
    assert model_findings.finding(experiment, rule).verdict == CONFIRMED


def test_a_percentile_with_too_few_requests_above_it_does_not_count():
    rule = next(rule for rule in RULES if rule.figure == "p999")
    experiment = Made({(rule.cell, name): 1.0 for name in (rule.subject, *rule.rivals)}).experiment
    found = model_findings.finding(experiment, rule)
    assert found.verdict == NOT_HERE and model_findings.TOO_SHORT in found.figure
    alone = Made({(rule.cell, rule.subject): 1.0}).experiment
    assert "no such figure here" in model_findings.finding(alone, rule).figure


def test_one_of_several_rivals_can_refute():
    rule = next(rule for rule in RULES if "slowest of the simple" in rule.sentence)
    speeds = {(rule.cell, rule.subject): 1000.0} | {(rule.cell, rival): 2000.0 for rival in rule.rivals}
    assert model_findings.finding(Made(speeds).experiment, rule).verdict == CONFIRMED
    speeds[rule.cell, rule.rivals[2]] = 500.0
    found = model_findings.finding(Made(speeds).experiment, rule)
    assert found.verdict == REFUTED and rule.rivals[2] in found.figure


def test_no_verdict_that_a_full_generator_could_change():
    rule = next(rule for rule in RULES if "Writing first" in rule.sentence)
    rival = rule.rivals[0]
    assert of_rule(rule, 1.5, full=(rule.subject,)).verdict == CONFIRMED, "the subject may be even faster"
    assert of_rule(rule, 1.5, full=(rival,)).verdict == NOT_HERE
    assert of_rule(rule, 0.9, full=(rival,)).verdict == REFUTED
    found = of_rule(rule, 0.9, full=(rule.subject,))
    assert found.verdict == NOT_HERE and f"filled first with {rule.subject}" in found.figure


def test_no_verdict_if_a_program_differs_from_itself():
    rule = next(rule for rule in RULES if "Writing first" in rule.sentence)
    made = Made({(rule.cell, rule.rivals[0]): 1000.0, (rule.cell, rule.subject): 1500.0}).experiment
    made["noise"] = [{"cell": rule.cell, "metric": "speed", "differs": True}]
    found = model_findings.finding(made, rule)
    assert found.verdict == NOT_HERE and "differs from itself" in found.figure


def test_no_verdict_with_too_few_blocks():
    found = of_rule(SPEED_RULES[0], 0.5, blocks=5)
    assert found.verdict == NOT_HERE and "5 blocks: too few, 6 are needed" in found.figure


@pytest.mark.parametrize("speed, full, expected", [
    (300_000.0, (), CONFIRMED), (100_000.0, (), REFUTED), (100_000.0, ("reactor_epoll",), NOT_HERE),
    (300_000.0, ("reactor_epoll",), CONFIRMED)])
def test_a_single_reactor_is_compared_with_the_published_figure(speed, full, expected):
    found = Made({(model_plans.SINGLE_LOAD.name, "reactor_epoll"): speed}, full=full).found()
    row = next(row for row in found if "220,000" in row["sentence"])
    assert row["verdict"] == expected and "/s (" in row["figure"]


def test_no_verdict_without_the_published_loads():
    rows = model_findings.of({"experiments": []})
    assert {row["verdict"] for row in rows} == {NOT_HERE} and len(rows) == len(RULES) + 1
    assert all(row["figure"] == "its load did not run" and row["experiment"] == 5 for row in rows)


def test_each_sentence_is_complete():
    rows = model_findings.of({"experiments": []})
    sentences = [row["sentence"] for row in rows]
    assert len(set(sentences)) == len(sentences) and not any("..." in sentence for sentence in sentences)


def test_every_rule_is_about_rows_that_run_in_its_cell():
    cells = {cell.name: cell for cell in model_plans.FULL_HISTORIC.cells}
    for rule in RULES:
        for cell, names in zip(rule.cells, ((rule.subject,), rule.rivals)):
            for name in names:
                assert model_roster.matching([name], cells[cell].only), (rule.sentence, name)
