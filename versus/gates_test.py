# SPDX-License-Identifier: BSD-3-Clause
"""Each gate marks what it is for, and nothing else."""

import json
from dataclasses import replace

import pytest

from versus import gates
from versus.run import generator
from versus.run.counters import HostDelta
from versus.fakes import document
from versus.gates import NOISY

QUIET = HostDelta(elapsed_s=1.0, steal_s=0.0, foreign_s=0.02)


def names(found):
    return {gate.name: gate.verdict for gate in found}


def test_a_quiet_host_passes():
    assert gates.of_host(QUIET, 2) == [] and gates.status([]) == "ok"


@pytest.mark.parametrize("name, changes", [
    ("steal", {"steal_s": 0.03}),
    ("foreign_load", {"foreign_s": 0.2}),
])
def test_the_hosts_troubles_are_noise(name, changes):
    assert names(gates.of_host(replace(QUIET, **changes), 2)) == {name: NOISY}


def test_a_spinning_generator_is_not_a_full_core():
    text = json.dumps(document(client={"cpu_ns": 1e9, "spin_ns": 0.7e9}))
    assert generator.parse(text).client_share == pytest.approx(0.3)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"seconds": 1}', '{"seconds": "x"}'])
def test_nonsense_from_the_generator_is_one_sentence(text):
    with pytest.raises(generator.NoMeasurement) as raised:
        generator.parse(text)
    assert str(raised.value).startswith("cannot parse the generator's JSON: ")
