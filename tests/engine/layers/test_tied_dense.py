"""Dense layers that share a kernel, one of them transposed."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import SGD, Dense, Flatten, Input, Model, TiedDense
from studio.engine.core.errors import StudioError

X = np.random.default_rng(3).normal(size=(8, 4)).astype(np.float32)


def autoencoder(units: int = 4, tied_to: object = "code", **options: object) -> Model:
    x = Input((4,), name="x")
    code = Dense(2, name="code")(x)
    end = TiedDense(units, tied_to, name="end", **options)(code)
    return Model(x, end, backend="cpu")


def test_the_kernel_is_that_of_the_other_layer() -> None:
    with autoencoder(use_bias=False) as model:
        kernel, bias = (np.asarray(w) for w in model.get_weights())
        assert (kernel.shape, bias.shape) == ((4, 2), (2,))
        np.testing.assert_allclose(
            model.predict(X), (X @ kernel + bias) @ kernel.T, rtol=1e-5, atol=1e-6
        )


def test_both_uses_train_one_kernel() -> None:
    with autoencoder(use_bias=False) as model:
        kernel, bias = (np.asarray(w, np.float64) for w in model.get_weights())
        model.compile(SGD(0.1), "mse")
        model.fit(X, X, 8, 1, verbose=0)
        found = np.asarray(model.get_weights()[0])
    code = X @ kernel + bias
    slope = 2 * (code @ kernel.T - X) / X.size
    wanted = X.T @ (slope @ kernel) + slope.T @ code
    np.testing.assert_allclose(found, kernel - 0.1 * wanted, rtol=1e-4, atol=1e-6)


def test_of_a_frozen_layer_the_kernel_stays() -> None:
    x = Input((4,), name="x")
    code = Dense(2, name="code", trainable=False)
    with Model(x, TiedDense(4, code, name="end")(code(x)), backend="cpu") as model:
        before = model.get_weights()
        model.compile(SGD(0.1), "mse")
        model.fit(X, X, 8, 1, verbose=0)
        after = model.get_weights()
    np.testing.assert_array_equal(after[0], before[0])
    assert (after[2] != before[2]).any()


@pytest.mark.parametrize(
    ("units", "tied_to", "words"),
    [
        (5, "code", r"end\] expected a kernel \[5,2\] of code, got \[4,2\]"),
        (4, "cod", r"no layer 'cod' with a kernel comes before it"),
        (4, "end", r"no layer 'end' with a kernel"),
        (4, "x", r"no layer 'x' with a kernel"),
        (4, 3, "expected a name"),
        (4, Flatten(), "needs a name"),
    ],
)
def test_what_does_not_fit_is_named(units: int, tied_to: object, words: str) -> None:
    with pytest.raises(StudioError, match=words), autoencoder(units, tied_to) as model:
        model.predict(X)
