"""A training that needs more memory than is free is refused before any of it is taken."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import BackendError, MemoryShortageError
from studio.engine.cpu.backend import CpuBackend
from studio.engine.runtime import free_memory as memory_module
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network import network as network_module
from studio.engine.train.weights import initial_weights
from tests.engine.train.small_tasks import DIGITS, cnn, mlp, task

BATCH = 64


def train_with(monkeypatch: pytest.MonkeyPatch, free: int | None, batch: int = BATCH) -> None:
    monkeypatch.setattr(network_module, "free_memory", lambda: free)
    backend = CpuBackend()
    try:
        with Trainer(task(cnn(), DIGITS, batch_size=batch, epochs=1), backend) as trainer:
            assert trainer.run().outcome == "finished"
    finally:
        assert backend.memory().transient_bytes == 0
        backend.close()


def test_the_refusal_names_both_amounts_and_a_batch_that_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = r"in batches of 64 needs .* KiB of memory, but 146\.5 KiB are free"
    with pytest.raises(MemoryShortageError, match=said) as caught:
        train_with(monkeypatch, 150_000)
    refused = caught.value
    assert "the largest tensors of a step: 0x" in refused.message
    assert refused.hint == f"a batch size of {refused.fitting} fits"
    assert 1 <= refused.fitting < BATCH
    train_with(monkeypatch, 150_000, refused.fitting)


def test_a_batch_larger_than_the_data_needs_what_all_samples_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = task(cnn(), DIGITS, batch_size=1 << 20)
    assert made.training is not None
    every = made.batch_rows
    assert every == len(made.training) < 1 << 20
    with pytest.raises(MemoryShortageError, match=f"in batches of {every} needs") as caught:
        train_with(monkeypatch, 1 << 20, 1 << 20)
    assert 1 <= caught.value.fitting < every
    train_with(monkeypatch, 1 << 28, 1 << 20)


def test_where_no_batch_fits_the_layers_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MemoryShortageError) as caught:
        train_with(monkeypatch, 1024)
    assert caught.value.fitting == 0
    assert caught.value.hint == "make its layers smaller"


@pytest.mark.parametrize("free", [None, 1 << 40])
def test_what_fits_or_cannot_be_known_is_trained(
    monkeypatch: pytest.MonkeyPatch, free: int | None
) -> None:
    train_with(monkeypatch, free)


def test_initial_weights_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "free_memory", lambda: 1 << 20)
    graph = mlp(inputs=1 << 13, units=1 << 13)
    with pytest.raises(BackendError, match="making all weights needs 256"):
        initial_weights(graph, 0)
