"""Weights and number types of batches and validation of different lengths, against float64."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine import SGD, Dense, Input, Model

Array: TypeAlias = npt.NDArray[np.float64]
Part: TypeAlias = tuple[Array, ...]
BACKENDS = ("cpu", pytest.param("gl", marks=pytest.mark.gl))

STILL = SGD(1e-12)
"""Trains so little that the loss of an epoch is that of the first weights."""


def model_of(backend: str) -> Model:
    """One dense layer at every position."""
    x = Input((None, 4), name="tokens")
    model = Model(x, Dense(2)(x), backend=backend, seed=1)
    model.compile(STILL, "mse")
    return model


def part(rows: int, length: int) -> Part:
    """Random inputs, targets, and a weight for each position."""
    rng = np.random.default_rng(100 * rows + length)
    x, y = rng.normal(size=(rows, length, 4)), rng.normal(size=(rows, length, 2))
    return x, y, rng.uniform(0.0, 2.0, (rows, length))


def loss(model: Model, parts: list[Part]) -> float:
    """Mean over all rows in float64; a part without weights counts 1 everywhere."""
    kernel, bias = (w.astype(np.float64) for w in model.get_weights())
    total = 0.0
    for x, y, *given in parts:
        weights = given[0] if given else np.ones(len(x))
        losses = ((x @ kernel + bias - y) ** 2).mean(-1)
        total += float((losses * weights.reshape(len(x), -1)).mean(1).sum())
    return total / sum(len(x) for x, *_ in parts)


def plain(each: Part) -> Part:
    return each[:2]


def by_sample(each: Part) -> Part:
    return *each[:2], each[2][:, 0]


A, B, C = part(6, 5), part(4, 9), part(3, 7)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("training", "validation"),
    [
        (A, B),
        (A, plain(B)),
        (plain(A), B),
        (by_sample(A), B),
        (A, by_sample(B)),
        (A, by_sample(part(4, 5))),
    ],
    ids=["both", "training", "validation", "by sample first", "by sample last", "of one length"],
)
def test_weights_of_validation_may_have_another_form(
    backend: str, training: Part, validation: Part
) -> None:
    with model_of(backend) as model:
        x, y, *weights = training
        history = model.fit(
            x, y, 4, validation_data=validation, sample_weight=weights[0] if weights else None
        ).history
        assert history["loss"] == pytest.approx([loss(model, [training])], rel=1e-5)
        assert history["val_loss"] == pytest.approx([loss(model, [validation])], rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "batches",
    [
        [plain(A), B, C],
        [A, plain(B), by_sample(C)],
        [by_sample(A), B, plain(C)],
        [plain(A), A, by_sample(A), B],
    ],
    ids=["first without", "others without", "by sample first", "of one length"],
)
def test_some_batches_have_weights(backend: str, batches: list[Part]) -> None:
    with model_of(backend) as model:
        wanted = pytest.approx(loss(model, batches), rel=1e-5)
        assert model.evaluate(batches) == wanted
        history = model.fit(batches, validation_data=batches[::-1]).history
        assert history["loss"] == [wanted]
        assert history["val_loss"] == [wanted]


def test_weights_for_all_outputs_and_weights_by_output() -> None:
    x = Input((None, 4), name="tokens")
    first, second = Dense(2, name="first")(x), Dense(2, name="second")(x)
    with Model(x, [first, second], backend="cpu", seed=1) as model:
        model.compile(STILL, "mse")
        a, b = ((each[0], [each[1], each[1]], each[2]) for each in (A, B))
        wanted = model.evaluate(*b[:2], sample_weight=[b[2], None])
        history = model.fit(
            *a[:2], sample_weight=a[2], validation_data=(*b[:2], [b[2], None])
        ).history
        assert history["val_loss"] == pytest.approx(wanted[:1], rel=1e-5)  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lengths", [(5, 5), (5, 9)], ids=["of one length", "of two lengths"])
def test_batches_may_have_whole_numbers_and_others(backend: str, lengths: tuple[int, int]) -> None:
    (x, y, _), (real_x, real_y, _) = part(6, lengths[0]), part(4, lengths[1])
    whole_x, whole_y = np.abs(3.0 * x).astype(np.uint8), (3.0 * y).astype(np.int64)
    batches = [(whole_x, whole_y), (real_x, real_y)]
    with model_of(backend) as model:
        wanted = pytest.approx(loss(model, batches), rel=1e-5)
        assert model.evaluate(batches) == wanted
        assert model.evaluate(batches[::-1]) == wanted
        samples = [row for each, _ in batches for row in each]
        targets = [row for _, each in batches for row in each]
        assert model.evaluate(samples, targets) == wanted
