"""A name that is not known is answered with the nearest ones there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from studio.engine.core.errors import StudioError
from studio.engine.core.near_names import did_you_mean, near_names
from studio.engine.isa import ops
from studio.engine.isa.line import parse_line
from studio.engine.isa.manual import entry
from studio.engine.layers.activation_catalog import parse_activation
from studio.engine.layers.dense import Dense
from studio.engine.layers.initializers import parse_initializer
from studio.engine.layers.layer import Layer
from studio.engine.optim.optimizers import Optimizer
from studio.engine.train.data.references import open_dataset
from studio.engine.train.devices import open_backend
from studio.engine.train.project.data_settings import DataSettings
from studio.samples import open_copy

ALL_FAMILIES = ops.__all__


def test_the_nearest_come_first_whatever_their_case() -> None:
    assert near_names("RELUU", ("ADD", "Relu", "LEAKY_RELU"))[0] == "Relu"
    assert near_names("conv", ("CONV2D", "DEPTHWISE_CONV2D", "ADD")) == (
        "CONV2D",
        "DEPTHWISE_CONV2D",
    )
    assert near_names("nothing like it", ("ADD",)) == ()
    assert near_names(7, ("ADD",)) == ()
    assert near_names("", ("ADD",)) == ()
    assert near_names("x" * 1_000_000, ("ADD",)) == ()
    assert did_you_mean("ad", ("ADD",), "known: ADD") == "did you mean ADD? known: ADD"
    assert did_you_mean("q", ("ADD",), "known: ADD") == "known: ADD"


REFUSED: list[tuple[str, Callable[[], object], str]] = [
    ("isa", lambda: entry("RELUU"), "RELU"),
    ("listing", lambda: parse_line("RELUU 0x1 0x2"), "RELU"),
    ("layer", lambda: Layer.member("Densse"), "Dense"),
    ("option", lambda: Dense(4, activaton="relu"), "activation"),
    ("activation", lambda: parse_activation("rleu"), "relu"),
    ("initialiser", lambda: parse_initializer("glorot_unifrom"), "glorot_uniform"),
    ("optimiser", lambda: Optimizer.member("Addam"), "Adam"),
    ("backend", lambda: open_backend("cpuu"), "cpu"),
    ("source", lambda: DataSettings.from_json({"source": "digit"}), "digits"),
    ("opened source", lambda: open_dataset({"source": "digit"}, Path()), "digits"),
    ("source's option", lambda: open_dataset({"source": "moons", "nois": 1}, Path()), "noise"),
    ("sample", lambda: open_copy("digits-cn", Path()), "digits-cnn"),
]


@pytest.mark.parametrize(("meant", "refuse"), [(m, r) for _, r, m in REFUSED],
                         ids=[name for name, _, _ in REFUSED])  # fmt: skip
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(
    refuse: Callable[[], object], meant: str
) -> None:
    with pytest.raises(StudioError) as caught:
        refuse()
    asked = caught.value.hint.partition("?")[0]
    assert asked.startswith("did you mean ")
    assert asked.removeprefix("did you mean ").split(" or ")[0] == meant
