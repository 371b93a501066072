"""Training settings and data by the names of inputs and outputs, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studio.engine.core.errors import ParameterError
from studio.session.document.checks.validation import validate
from studio.session.document.document import Document
from studio.session.document.edits.layers import bypass, mark_output, rename
from studio.session.document.edits.outputs import (
    NO_LOSS,
    output_setting,
    set_output_training,
)
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_training, training_of
from studio.session.document.repairs.search import with_fixes
from studio.session.document.report import DataFacts
from tests.session.document.faulty_outputs import BOTH, heads
from tests.session.document.faulty_parts import SPARSE, marked

SETTINGS = {
    "loss": {"kind": "SparseCategoricalCrossentropy", "age": "MeanAbsoluteError"},
    "metrics": {"kind": ["accuracy"]},
    "weighted_metrics": {"age": ["MeanAbsoluteError"]},
    "loss_weights": {"age": 0.5},
    "class_weights": {"kind": "balanced"},
}


def by_name(state):
    training = training_of(state).config()
    return {name: dict(training[name]) for name in SETTINGS if name in training}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"loss": "MeanAbsoluteError"}, {"loss": {"age": "MeanAbsoluteError"}}),
        ({"metrics": ["mae"]}, {"metrics": {"age": ["MeanAbsoluteError"]}}),
        ({"metrics": []}, {"metrics": {"age": []}}),
        ({"loss": NO_LOSS}, {"loss": {"age": None}}),
        ({"weighted_metrics": ["mse"]}, {"weighted_metrics": {"age": ["MeanSquaredError"]}}),
        ({"weighted_metrics": []}, {}),
        ({"loss_weights": 0.25}, {"loss_weights": {"age": 0.25}}),
        ({"class_weights": {"a": 2.0}}, {"class_weights": {"age": {"a": 2.0}}}),
        ({"loss_weights": 1.0}, {}),
        ({"loss": None, "metrics": None, "class_weights": None}, {}),
    ],
)  # fmt: skip
def test_a_setting_of_one_output_is_written_by_its_name(changes, expected):
    assert by_name(set_output_training(heads(), "age", changes)) == expected


def test_an_output_without_a_loss_needs_no_targets_and_one_keeps_a_loss():
    data = {"source": "arrays", "path": "a.npz", "inputs": {"x": "x"}, "targets": {"kind": "k"}}
    facts = replace(BOTH, outputs=BOTH.outputs[:1])
    assert not validate(heads(data=data), facts).is_valid
    state = set_output_training(heads(data=data), "age", {"loss": NO_LOSS})
    assert validate(state, facts).is_valid
    assert output_setting(training_of(state), "age", "loss") == NO_LOSS
    with pytest.raises(ParameterError, match="at least one output needs a loss"):
        set_output_training(state, "kind", {"loss": NO_LOSS})
    measured = set_output_training(state, "age", {"metrics": ["mse"]})
    assert [p.id for p in validate(measured, facts).problems] == ["data.no_target_array"]
    # What is for one target goes to the output that has a loss.
    assert validate(state, DataFacts((4,), "table", 3)).is_valid
    alone = delete(state, ["kind"])
    assert training_of(alone).loss is None
    renamed = rename(state, "age", "years")
    assert by_name(renamed)["loss"] == {"years": None}


def test_what_is_given_for_all_stays_with_the_others():
    state = heads(training={"loss": "MeanSquaredError", "metrics": ["mse"]})
    state = set_output_training(state, "age", {"loss": None, "metrics": []})
    assert by_name(state) == {
        "loss": {"kind": "MeanSquaredError"},
        "metrics": {"kind": ["MeanSquaredError"], "age": []},
    }


def test_balanced_classes_of_all_become_those_of_outputs_with_classes():
    state = heads(training={"class_weights": "balanced"})
    changed = set_output_training(state, "kind", {"class_weights": {"a": 3.0}}, ["kind"])
    assert by_name(changed) == {"class_weights": {"kind": {"a": 3.0}}}
    assert validate(changed, BOTH).is_valid


def test_the_only_output_keeps_plain_settings():
    state = delete(heads(), ["age"])
    changed = set_output_training(state, "kind", {"loss": "MeanSquaredError", "metrics": ["mse"]})
    settings = training_of(changed)
    assert not settings.is_by_output
    assert settings.loss is not None


def test_a_wrong_weight_is_refused_and_names_the_output():
    with pytest.raises(ParameterError) as error:
        set_output_training(heads(), "age", {"loss_weights": "much"})
    assert "age" in error.value.who


def test_a_setting_is_read_for_each_output():
    settings = training_of(heads(training=SETTINGS))
    assert output_setting(settings, "age", "loss") == "MeanAbsoluteError"
    assert output_setting(settings, "age", "metrics") is None
    assert output_setting(settings, "kind", "loss_weights") == 1.0
    assert output_setting(settings, "kind", "class_weights") == "balanced"


def test_renaming_an_output_renames_its_settings_and_its_data_in_one_step():
    document = Document(heads(training=SETTINGS))
    document.set_data_facts(BOTH)
    before = document.state
    document.apply("Rename", rename(before, "age", "years"))
    assert by_name(document.state)["loss"]["years"] == "MeanAbsoluteError"
    assert by_name(document.state)["loss_weights"] == {"years": 0.5}
    assert document.state.data["targets"] == {"kind": "k", "years": "a"}
    assert document.report.is_valid
    document.undo()
    assert document.state == before


def test_renaming_an_input_renames_its_data():
    state = rename(heads(), "x", "row")
    assert state.data["inputs"] == {"row": "x"}
    assert validate(state, BOTH).is_valid


def test_an_array_named_like_its_output_keeps_its_name():
    state = heads(data={"source": "arrays", "path": "a.npz", "inputs": {"x": {"range": [0, 1]}},
                        "targets": {"kind": {}, "age": "a"}})  # fmt: skip
    state = rename(rename(state, "x", "row"), "kind", "species")
    assert state.data["inputs"] == {"row": {"array": "x", "range": [0, 1]}}
    assert state.data["targets"] == {"species": {"array": "kind"}, "age": "a"}


def test_a_renamed_hidden_layer_changes_no_settings():
    state = heads(training=SETTINGS)
    assert rename(state, "hidden", "inner").training == state.training


def test_what_callbacks_watch_follows_a_renamed_output():
    watched = {
        "early_stopping": {"monitor": "val_age_loss"},
        "checkpoints": {"monitor": "kind_accuracy"},
        "callbacks": [{"type": "ReduceLROnPlateau", "config": {"monitor": "age_loss"}}],
    }
    training = rename(heads(training=watched), "age", "years").training
    assert training["early_stopping"]["monitor"] == "val_years_loss"
    assert training["checkpoints"]["monitor"] == "kind_accuracy"
    assert training["callbacks"][0]["config"]["monitor"] == "years_loss"


@pytest.mark.parametrize(
    ("edit", "watched", "expected"),
    [
        (lambda s: delete(s, ["age"]), "val_age_loss", "val_loss"),
        (lambda s: delete(s, ["age"]), "val_kind_accuracy", "val_accuracy"),
        (lambda s: delete(s, ["age"]), "val_loss", "val_loss"),
        (lambda s: mark_output(s, "age"), "kind_loss", "loss"),
        (lambda s: mark_output(mark_output(s, "age"), "age"), "val_kind_accuracy",
         "val_kind_accuracy"),
        (lambda s: mark_output(s, "hidden"), "val_age_loss", "val_age_loss"),
    ],
)  # fmt: skip
def test_callbacks_watch_what_there_is_of_the_outputs_left(edit, watched, expected):
    state = edit(heads(training={"early_stopping": {"monitor": watched}}))
    found = state.training["early_stopping"].get("monitor", "val_loss")
    assert found == expected


def test_sample_weights_of_an_output_follow_it_and_go_with_it():
    data = {"source": "arrays", "path": "a.npz", "inputs": {"x": "x"},
            "targets": {"kind": "k", "age": "a"}, "weights": {"age": "w"}}  # fmt: skip
    state = rename(heads(data=data), "age", "years")
    assert state.data["weights"] == {"years": "w"}
    assert "weights" not in delete(state, ["age"]).data


def test_names_can_be_swapped():
    state = heads(training=SETTINGS)
    for node_id, name in (("age", "other"), ("kind", "age"), ("age", "kind")):
        state = rename(state, node_id, name)
    assert by_name(state)["loss"] == {
        "age": "SparseCategoricalCrossentropy", "kind": "MeanAbsoluteError",
    }  # fmt: skip
    assert state.data["targets"] == {"age": "k", "kind": "a"}


def test_a_bypassed_output_leaves_its_settings_to_the_layer_before_and_takes_them_back():
    state = heads(training={"loss": {"age": "MeanAbsoluteError"}})
    passed = bypass(state, ["age"])
    assert by_name(passed) == {"loss": {"hidden": "MeanAbsoluteError"}}
    assert passed.data["targets"] == {"kind": "k", "hidden": "a"}
    assert bypass(passed, ["age"]) == state


@pytest.mark.parametrize("edit", [lambda s: delete(s, ["age"]), lambda s: mark_output(s, "age")])
def test_an_output_that_is_gone_takes_its_settings_and_its_data_along(edit):
    state = edit(heads(training=SETTINGS))
    settings = training_of(state)
    assert not settings.is_by_output
    assert state.training["loss"] == "SparseCategoricalCrossentropy"
    assert state.training["metrics"] == ["Accuracy"]
    assert state.training["class_weights"] == "balanced"
    assert state.data["targets"] == {"kind": "k"}
    assert validate(state, BOTH).is_valid


def test_the_last_array_stays_so_that_the_data_can_be_read():
    state = delete(heads(), ["age"])
    assert delete(state, ["kind"]).data["targets"] == {"kind": "k"}


def test_settings_of_the_only_output_stay_its_own_when_another_is_marked():
    alone = heads(change=marked("kind"), training={"loss": SPARSE, "metrics": ["acc"]})
    both = mark_output(alone, "age")
    assert by_name(both) == {"loss": {"kind": SPARSE}, "metrics": {"kind": ["Accuracy"]}}
    assert mark_output(both, "age").training == alone.training


def test_settings_for_all_do_not_change_when_an_output_goes():
    state = heads(training={"loss": "MeanSquaredError", "class_weights": "balanced"})
    assert delete(state, ["age"]).training == state.training


def test_a_message_names_the_output():
    state = set_training(heads(ages=1), {})
    (problem,) = validate(state, BOTH).problems
    assert problem.message.startswith("output age: ")


def test_marking_only_one_output_as_a_repair_leaves_its_settings_alone():
    plain = DataFacts((4,), "table", 3)
    state = heads(training={"loss": {"age": "mae"}}, data={"source": "iris"})
    report = with_fixes(validate(state, plain), state, plain)
    (fix,) = (f for p in report.problems for f in p.fixes if f.text == "Mark only kind as output")
    after = fix.apply(state)
    assert "loss" not in after.training
    assert validate(after, plain).is_valid
