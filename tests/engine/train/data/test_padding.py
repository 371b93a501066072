"""Sequences padded to a few lengths, and a network that leaves the padding out."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import Dense, Input, Masking, Model, pad_to_lengths
from studio.engine.core.errors import DataError, ParameterError


def test_samples_are_padded_to_powers_of_two_or_the_lengths_given() -> None:
    samples = [np.ones((n, 3), np.float32) for n in (1, 2, 3, 5, 8, 9)]
    assert [len(each) for each in pad_to_lengths(samples)] == [1, 2, 4, 8, 8, 16]
    padded = pad_to_lengths(samples, [10, 4])
    assert [each.shape for each in padded] == [(4, 3)] * 3 + [(10, 3)] * 3
    assert padded[3].dtype == np.float32
    assert np.array_equal(padded[3][:5], samples[3])
    assert not padded[3][5:].any()
    assert pad_to_lengths([[1, 2, 3]], [5], value=-1)[0].tolist() == [1, 2, 3, -1, -1]
    assert pad_to_lengths([]) == []
    assert pad_to_lengths([[]], [2])[0].tolist() == [0, 0]


@pytest.mark.parametrize("wrong", [[0], [-1], [1.5], [True], ["4"]])
def test_lengths_are_whole_numbers(wrong: list[int]) -> None:
    with pytest.raises(ParameterError, match="lengths: expected whole numbers from 1 up"):
        pad_to_lengths([[1]], wrong)


def test_samples_that_do_not_fit_are_named() -> None:
    with pytest.raises(DataError, match="sample 1 has 9 positions, the largest length is 8"):
        pad_to_lengths([[1], range(9)], [4, 8])
    with pytest.raises(DataError, match="sample 0 is a number"):
        pad_to_lengths([3.0])


@pytest.mark.slow
def test_a_mask_leaves_padding_out_of_training() -> None:
    x = Input((None, 4), name="tokens")
    rng = np.random.default_rng(0)
    samples = [rng.normal(size=(n, 4)).astype(np.float32) for n in (3, 4, 3, 4)]
    tags = [rng.integers(0, 3, len(each)).astype(np.int32) for each in samples]
    with Model(x, Dense(3, "softmax")(Masking()(x)), backend="cpu", seed=1) as model:
        model.compile("sgd", "sparse_categorical_crossentropy")
        answers = model.predict(samples)
        padded = model.predict(pad_to_lengths(samples, [4]))
        for alone, filled in zip(answers, padded, strict=True):
            np.testing.assert_allclose(
                np.asarray(filled, np.float64)[: len(alone)],
                np.asarray(alone, np.float64),
                rtol=1e-5,
            )
        losses = [
            -np.log(np.asarray(own, np.float64)[range(len(tag)), tag])
            for own, tag in zip(answers, tags, strict=True)
        ]
        loss = model.evaluate(pad_to_lengths(samples, [4]), pad_to_lengths(tags, [4]))
        assert loss == pytest.approx(np.concatenate(losses).mean(), rel=1e-5)
