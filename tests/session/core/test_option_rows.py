"""Every declared option has an editor, help, and a form that leads back to the same value."""

from __future__ import annotations

import pytest

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.kinds import FamilyKinds
from studio.engine.core.options import AnyOption, Plain
from studio.engine.layers.catalog import all_layers
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.regularizers import Regularizer
from studio.engine.layers.text_form import TextKinds
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import RateKinds, Schedule
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.settings import TrainingSettings
from studio.session.core.option_rows import Row, joined_rows, plain_text, row_of, tip

OWNERS: tuple[type[Configured], ...] = (
    *all_layers(), *Optimizer.members.values(), *Schedule.members.values(),
    *ProjectCallback.members.values(), TrainingSettings,
)  # fmt: skip


INITIALISERS = TextKinds(Initializer)
PENALTIES = TextKinds(Regularizer, none="none")


def start_of(option: AnyOption) -> Plain:
    return option.start if option.required else option.plain_default


def test_no_option_falls_back_to_plain_text() -> None:
    texts = {
        f"{owner.__name__}.{option.name}"
        for owner in OWNERS
        for option in owner.options
        if option.form_editor == "text"
    }
    own = {f"Operator.{name}" for name in ("operation", "settings", "constants")}
    assert texts == {"TiedDense.tied_to", *own}, "other options have an editor of their own"


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_help_states_meaning_range_and_default(owner: type[Configured]) -> None:
    assert set(owner.form_options()) == set(owner.options)
    for option in owner.options:
        text = tip(option)
        assert text.startswith(option.doc)
        assert text.endswith(".")
        if not option.required:
            assert "efault" in text
        if option.form_editor in ("integer", "number") and option.high < 1e9:
            high = int(option.high) if option.high == int(option.high) else option.high
            assert str(high) in text.replace("\u2009", "")


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_kinds_lead_back_to_the_value_they_were_read_from(owner: type[Configured]) -> None:
    for option in owner.options:
        kinds = option.kinds
        if kinds is None or option.form_editor != "kinds":
            continue
        for kind in kinds.kinds:
            value = kinds.with_kind(option.plain_default, kind.key)
            option.check(value, "it") if value is not None else None
            key, values = kinds.split(value)
            assert key == kind.key or (key == "" and value is None)
            again = kinds.join(key, values)
            assert value is not None or again is None
            assert value is None or option.check(again, "it") == option.check(value, "it")


@pytest.mark.parametrize(
    ("text", "kind", "name", "value", "result"),
    [
        ("glorot_uniform", "constant", "value", 0.5, "constant(0.5)"),
        ("zeros", "random_normal", "deviation", 0.1, "random_normal(0,0.1)"),
        ("ones", "variance_scaling", "mode", "fan_out",
         "variance_scaling(1,fan_out,truncated_normal)"),
    ],
)  # fmt: skip
def test_initialisers_are_taken_apart_and_put_together(
    text: str, kind: str, name: str, value: Plain, result: str
) -> None:
    made = INITIALISERS.with_value(INITIALISERS.with_kind(text, kind), name, value)
    assert made == result


def test_arguments_of_initialisers_are_checked_by_the_engine() -> None:
    with pytest.raises(ParameterError, match="deviation: expected a number of at least 0, got -1"):
        INITIALISERS.with_value("random_normal", "deviation", -1.0)


def test_penalties_keep_their_factors_from_kind_to_kind() -> None:
    kinds = PENALTIES
    both = kinds.with_kind("l2(0.25)", "l1_l2")
    assert kinds.split(both) == ("l1_l2", {"l1": 0.01, "l2": 0.25})
    assert kinds.with_kind(both, "l2") == "l2(0.25)"
    assert kinds.with_kind(both, "") is None


def test_a_rate_becomes_a_schedule_and_back() -> None:
    kinds = RateKinds(0.001)
    cosine = kinds.with_kind(0.003, "CosineDecay")
    assert isinstance(Schedule.from_json(cosine), Schedule)
    cosine = kinds.with_value(cosine, "decay_steps", 77)
    assert kinds.split(cosine)[1]["decay_steps"] == 77
    assert kinds.with_kind(cosine, "constant") == 0.001


@pytest.mark.parametrize("kind", sorted(Optimizer.members))
def test_an_optimiser_begins_with_its_own_learning_rate(kind: str) -> None:
    first = Optimizer.members[kind].form_options()[0]
    assert first.name == "learning_rate"
    assert first.kinds is not None
    key, values = first.kinds.split(first.plain_default)
    (rate,) = first.kinds.kind(key).options
    assert rate.is_default(values[rate.name])
    assert rate.plain_default == Optimizer.members[kind]().rate(0)


def test_an_optimiser_keeps_what_the_next_one_also_has() -> None:
    kinds = FamilyKinds(Optimizer)
    adam = kinds.with_value(kinds.with_value("Adam", "learning_rate", 0.02), "beta_1", 0.8)
    sgd = kinds.with_kind(adam, "SGD")
    assert sgd == {"type": "SGD", "config": {"learning_rate": 0.02}}
    assert Optimizer.resolve(sgd).option_values["learning_rate"] == 0.02


def test_common_options_of_different_layers_are_joined_and_marked() -> None:
    layers = {layer.__name__: layer for layer in all_layers()}
    dense = [row_of(option, start_of(option)) for option in layers["Dense"].options]
    conv = [row_of(option, start_of(option)) for option in layers["Conv2D"].options]
    changed = [
        Row(row.option, "relu", False) if row.option.name == "activation" else row for row in conv
    ]
    found = {row.option.name: row for row in joined_rows([dense, changed])}
    assert set(found) == {
        "activation", "use_bias", "kernel_initializer", "bias_initializer", "kernel_regularizer",
        "bias_regularizer",
    }  # fmt: skip
    assert found["activation"].is_mixed
    assert not found["activation"].is_default
    assert found["use_bias"].is_default
    assert joined_rows([]) == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "none"), (True, "yes"), (0.001, "0.001"), ([], "none"), ({"type": "Adam"}, "Adam"),
     ({"type": "SGD", "config": {"momentum": 0.9}}, "SGD (momentum 0.9)")],
)  # fmt: skip
def test_values_are_said_in_a_few_words(value: Plain, text: str) -> None:
    assert plain_text(value) == text
