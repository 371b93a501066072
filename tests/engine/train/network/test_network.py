"""What a network's tensors hold before it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studio.engine.layers.initializers import initial_values, starts_at_zero
from studio.engine.train.network.network import STATE_ROLES, Network
from tests.engine.train.small_tasks import cnn, equal_bytes, task

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

ADAM = {"type": "Adam", "config": {"learning_rate": 0.1}}


def test_a_new_network_and_one_begun_again_hold_what_the_tensors_say(cpu: Backend) -> None:
    made = task(cnn(), {"source": "digits", "normalization": "unit"}, optimizer=ADAM)
    with Network(made, cpu) as network:
        network.initialise(7)
        tensors = network.tensors("train", STATE_ROLES)
        wanted = {t.name: initial_values(t, 7) for t in tensors}
        assert {starts_at_zero(t) for t in tensors} == {True, False}
        assert all(starts_at_zero(t) == (not wanted[t.name].any()) for t in tensors)
        assert equal_bytes(network.read(STATE_ROLES), wanted)
        changed = {name: np.full_like(values, 0.5) for name, values in wanted.items()}
        network.write(changed, STATE_ROLES)
        assert equal_bytes(network.read(STATE_ROLES), changed)
        network.initialise(7)
        assert equal_bytes(network.read(STATE_ROLES), wanted)
