"""Logged names of metrics: which output they are of, in which order, and how text writes them."""

from __future__ import annotations

import pytest

from studio.session.core.metric_names import (
    by_output,
    metric_text,
    metric_title,
    output_of,
    outputs_in,
)

LOG = (
    "loss", "kind_loss", "kind_2_loss", "kind_accuracy", "kind_2_mean_squared_error",
    "val_loss", "val_kind_loss", "val_kind_2_loss", "learning_rate",
)  # fmt: skip
OUTPUTS = ("kind", "kind_2")


def test_outputs_are_those_with_a_loss_each():
    assert outputs_in(LOG) == OUTPUTS
    assert outputs_in(("loss", "accuracy", "val_loss")) == ()
    assert outputs_in(("loss", "my_loss", "val_my_loss")) == ()
    assert outputs_in(()) == ()


@pytest.mark.parametrize(
    ("name", "output", "title"),
    [
        ("loss", "", "Loss"),
        ("learning_rate", "", "Learning rate"),
        ("kind_accuracy", "kind", "kind: accuracy"),
        ("val_kind_loss", "kind", "kind: val loss"),
        ("kind_2_mean_squared_error", "kind_2", "kind_2: mean squared error"),
        ("kind_mean_iou", "kind", "kind: mean IoU"),
        ("val_auc", "", "Val AUC"),
    ],
)
def test_a_name_tells_its_output(name, output, title):
    assert output_of(name, OUTPUTS) == output
    assert metric_title(name, OUTPUTS) == title
    text = metric_text(name, OUTPUTS)
    assert text == title if output else text.lower() == title.lower()


def test_names_of_one_output_stand_together():
    assert by_output(LOG[:5], OUTPUTS) == (
        "loss", "kind_loss", "kind_accuracy", "kind_2_loss", "kind_2_mean_squared_error",
    )  # fmt: skip
    assert by_output(("b", "a", "loss"), ()) == ("b", "a", "loss")
