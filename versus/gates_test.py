# SPDX-License-Identifier: BSD-3-Clause
"""Each gate closes on what it is for, and only then."""

import json
from dataclasses import replace

import pytest

from versus import gates
from versus.run import generator
from versus.run.counters import HostDelta
from versus.experiments import CLOSED, RATE
from versus.fakes import document
from versus.gates import INVALID, NOISY, Gate

QUIET = HostDelta(elapsed_s=1.0, steal_s=0.0, foreign_s=0.02, listen_overflows=0, listen_drops=0, retransmits=0)


def run(**changes):
    fine = generator.parse(json.dumps(document(connections=10, rate=1000.0)))
    return replace(fine, **({"latency_mean_ns": 0.0} | changes))


def names(found):
    return {gate.name: gate.verdict for gate in found}


def test_a_clean_run_passes():
    assert gates.of_measurement(run(), RATE, 10) == [] and gates.of_host(QUIET, 2) == []
    assert gates.status([]) == "ok"


@pytest.mark.parametrize("name, verdict, changes", [
    ("errors", INVALID, {"errors": {"mismatched": 2}}),
    ("connections", INVALID, {"connections_open": 9}),
    ("nothing", INVALID, {"messages": 0}),
    ("clamped", INVALID, {"clamped": 1}),
    ("server_cpu", INVALID, {"server_cpu_ns": None}),
    ("achieved", INVALID, {"messages_per_s": 989.0}),
    ("generator", INVALID, {"client_share": 0.9, "server_share": 0.5}),
    ("send_lag", NOISY, {"send_lag_p99_ns": 5e6}),
])
def test_one_trouble_closes_one_gate(name, verdict, changes):
    found = gates.of_measurement(run(**changes), RATE, 10)
    assert names(found) == {name: verdict}
    assert found[0].sentence.endswith(".") and "\n" not in found[0].sentence


def test_ninety_nine_percent_of_the_rate_is_enough():
    assert gates.of_measurement(run(messages_per_s=990.0), RATE, 10) == []


def test_a_full_generator_makes_a_closed_loop_a_lower_bound_not_a_failure():
    found = gates.of_measurement(run(client_share=0.97, server_share=0.6), CLOSED, 10)
    assert names(found) == {"generator": NOISY} and "lower bound" in found[0].sentence


def test_both_cores_full_is_what_saturation_means():
    assert gates.of_measurement(run(client_share=0.97, server_share=0.95), CLOSED, 10) == []


def test_littles_law_holds_in_a_closed_loop():
    assert gates.of_measurement(run(messages_per_s=1000.0, latency_mean_ns=1e7), CLOSED, 10) == []
    slow = run(messages_per_s=1000.0, latency_mean_ns=1.2e7)
    assert names(gates.of_measurement(slow, CLOSED, 10)) == {"little": NOISY}


@pytest.mark.parametrize("name, changes", [
    ("listen_drops", {"listen_drops": 1}),
    ("listen_drops", {"listen_overflows": 3}),
    ("retransmits", {"retransmits": gates.RETRANSMITS_ALLOWED + 1}),
    ("steal", {"steal_s": 0.03}),
    ("foreign_load", {"foreign_s": 0.2}),
])
def test_the_hosts_troubles_are_noise(name, changes):
    assert names(gates.of_host(replace(QUIET, **changes), 2)) == {name: NOISY}


def test_the_generators_gates_are_added_once():
    own = [Gate("errors", INVALID, "Ours.")]
    theirs = [Gate("errors", INVALID, "Theirs."), Gate("little", NOISY, "New.")]
    assert [gate.sentence for gate in gates.combined(own, theirs, RATE)] == ["Ours.", "New."]
    bound = gates.combined([], [Gate("generator", INVALID, "Full.")], CLOSED)
    assert gates.status(bound) == NOISY


def test_a_spinning_generator_is_not_a_full_core():
    text = json.dumps(document(rate=1000.0) | {"client": {"cpu_ns": 1e9, "spin_ns": 0.7e9}})
    assert generator.parse(text).client_share == pytest.approx(0.3)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"seconds": 1, "messages": 5}', '{"seconds": "x"}',
                                  json.dumps(document(latency_ns={"hdr": "HISTFnonsense"}))])
def test_a_generator_that_writes_nonsense_is_one_sentence(text):
    with pytest.raises(generator.NoMeasurement) as raised:
        generator.parse(text)
    assert str(raised.value).endswith(".")
