"""Edits of what belongs to one output of several, or to one input: settings and data by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from studio.engine.core.errors import ParameterError
from studio.engine.core.options import Plain
from studio.engine.train.project.data_settings import BY_NAME
from studio.engine.train.runs.step_log import RATE
from studio.engine.train.settings import TrainingSettings
from studio.session.core.metric_names import output_of
from studio.session.document.edits.sections import set_training, training_of
from studio.session.document.flow import running_order
from studio.session.document.frozen_config import EMPTY, FrozenConfig
from studio.session.document.layer_types import is_input
from studio.session.document.resolve import output_names, resolve
from studio.session.document.state import DocumentState

Side: TypeAlias = Literal["inputs", "targets", "weights"]
OutputOption: TypeAlias = Literal[
    "loss", "metrics", "weighted_metrics", "loss_weights", "class_weights"
]

OUTPUT_OPTIONS: tuple[OutputOption, ...] = get_args(OutputOption)
"""Training settings that may be given by output name."""

NO_LOSS = "none"
"""What `output_setting` calls the loss of an output that no loss trains."""

_SIDES: tuple[Side, ...] = get_args(Side)
_WATCHING = ("early_stopping", "checkpoints", "callbacks")
_NAMING = (*OUTPUT_OPTIONS, *_WATCHING)


def output_setting(settings: TrainingSettings, output: str, option: OutputOption) -> Plain:
    """What a training setting is for one output, as plain data; a loss weight is 1 unless set."""
    if option == "loss_weights":
        return (settings.loss_weights or {}).get(output, 1.0)
    if option == "loss" and settings.has_no_loss(output):
        return NO_LOSS
    if option == "weighted_metrics":
        return TrainingSettings.option(option).plain(settings.weighted_metrics_of(output))
    written = TrainingSettings.option(option).plain(settings.option_values[option])
    if isinstance(written, dict) and _is_by_output(settings, option):
        return written.get(output)
    return written


def set_output_training(
    state: DocumentState,
    output: str,
    changes: Mapping[str, object],
    classified: Collection[str] | None = None,
) -> DocumentState:
    """Change training settings of one output; what was given for all stays with the others.

    Args:
        output: its name.
        changes: settings of `OUTPUT_OPTIONS` by name; None where the data chooses, or for none;
            `NO_LOSS` where no loss trains it.
        classified: outputs whose targets are classes; all where that is not known.

    Raises:
        ParameterError: a value is not allowed, or no output would have a loss.
    """
    settings, names = training_of(state), output_names(state)
    if len(names) == 1:
        plain = dict(changes)
        if "loss_weights" in plain:
            plain["loss_weights"] = _weights({output: plain["loss_weights"]})
        return set_training(state, plain)
    made: dict[str, object] = {}
    for option in OUTPUT_OPTIONS:
        if option not in changes:
            continue
        among = names if option != "class_weights" or classified is None else classified
        values = {n: output_setting(settings, n, option) for n in names if n in among}
        table: Mapping[str, object] = {**values, output: changes[option]}
        if option == "loss_weights":
            made[option] = _weights(table)
        elif option == "weighted_metrics":
            made[option] = {name: value for name, value in table.items() if value} or []
        elif option == "loss":
            made[option] = _losses(table)
        else:
            made[option] = {n: value for n, value in table.items() if value is not None} or None
    return set_training(state, made)


def _losses(table: Mapping[str, object]) -> dict[str, object] | None:
    """Losses by output as settings have them; ParameterError where no output has one."""
    if all(value == NO_LOSS for value in table.values()):
        raise ParameterError(
            "at least one output needs a loss", hint="without one nothing is trained"
        )
    return {
        name: None if value == NO_LOSS else value
        for name, value in table.items()
        if value is not None
    } or None


def _weights(table: Mapping[str, object]) -> dict[str, object] | None:
    return {name: weight for name, weight in table.items() if weight not in (None, 1.0)} or None


def _is_by_output(settings: TrainingSettings, option: OutputOption) -> bool:
    if option == "class_weights":
        return settings.has_class_tables
    return isinstance(settings.option_values[option], Mapping)


def following_names(before: DocumentState, after: DocumentState) -> DocumentState:
    """``after``, which differs by a layer's name, with what is given by input and output name."""
    if before is after or not _says_names(after):
        return after
    inputs = _pairs(input_names(before), input_names(after))
    outputs = _pairs(output_names(before), output_names(after))
    return _watching_outputs(before, _with_names(after, inputs, outputs), outputs)


def following_marks(before: DocumentState, after: DocumentState) -> DocumentState:
    """``after`` without what is given for inputs and outputs it does not have any more.

    The last array for an input or output stays: data without any cannot be opened. What callbacks
    watch of an output that is gone is the total loss then. Settings of the only output become those
    by its name where there are more, and plain again where there are not.
    """
    if before is after or not _says_names(after):
        return after
    inputs, outputs = set(input_names(after)), set(output_names(after))
    made = _with_names(
        after,
        {name: "" for name in input_names(before) if name not in inputs},
        {name: "" for name in output_names(before) if name not in outputs},
    )
    made = _plain_or_by_name(made, output_names(before), output_names(after))
    return _watching_outputs(before, made, {})


def _plain_or_by_name(
    state: DocumentState, old: Sequence[str], new: Sequence[str]
) -> DocumentState:
    """Settings of the only output stay its own when there are more, and plain when it is alone."""
    settings, changes = training_of(state), dict[str, object]()
    for option in OUTPUT_OPTIONS:
        if option == "loss_weights" or not settings.option_values[option]:
            continue
        by_name = _is_by_output(settings, option)
        if len(old) == 1 and len(new) > 1 and not by_name and old[0] in new:
            changes[option] = {old[0]: output_setting(settings, old[0], option)}
        elif len(old) > 1 and len(new) == 1 and by_name:
            value = output_setting(settings, new[0], option)
            changes[option] = None if value == NO_LOSS else value
    return set_training(state, changes) if changes else state


def without_missing_outputs(state: DocumentState) -> DocumentState:
    """Remove training settings given by a name that is no output's."""
    settings, names = training_of(state), set(output_names(state))
    gone: dict[str, str] = {}
    for option in OUTPUT_OPTIONS:
        given = settings.option_values[option]
        if isinstance(given, Mapping) and _is_by_output(settings, option):
            gone.update((str(name), "") for name in given if name not in names)
    return _with_settings_named(state, gone)


def input_names(state: DocumentState) -> tuple[str, ...]:
    """Names of the network's inputs, as data by name has them."""
    reached = resolve(state).reached
    order = running_order(state.nodes)
    return tuple(state.nodes[i].name for i in order if i in reached and is_input(state.nodes[i]))


def map_array(state: DocumentState, side: Side, before: str, after: str) -> DocumentState:
    """Give the array of one input or output to another, with its settings; "" takes it away."""
    names = {before: after}
    if side == "inputs":
        return _with_data_named(state, "inputs", names)
    return _with_names(state, {}, names)


def _says_names(state: DocumentState) -> bool:
    """Whether anything may be given by the name of an input or output."""
    data = state.data or EMPTY
    return any(key in data for key in _SIDES) or any(key in state.training for key in _NAMING)


def _pairs(before: tuple[str, ...], after: tuple[str, ...]) -> dict[str, str]:
    if len(before) != len(after):
        return {}
    return {old: new for old, new in zip(before, after, strict=True) if old != new}


def _with_names(
    state: DocumentState, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> DocumentState:
    """Names by input and output replaced; an empty name takes an entry away."""
    state = _with_settings_named(state, outputs)
    for side in _SIDES:
        state = _with_data_named(state, side, inputs if side == "inputs" else outputs)
    return state


def _with_data_named(state: DocumentState, side: Side, names: Mapping[str, str]) -> DocumentState:
    """One table of the data section with other names; its last array stays."""
    data = state.data or EMPTY
    given = data.get(side)
    if not isinstance(given, Mapping) or not names.keys() & given.keys():
        return state
    table, part = _renamed(given, names), BY_NAME.get(str(data.get("source")))
    for name, value in given.items():
        to = names.get(name, name)
        if part and to not in ("", name) and isinstance(value, Mapping):
            # Without a name of its own the part of the source is called as what it goes to.
            table[to] = {part: name, **value}
    if table:
        return state.replaced(data=FrozenConfig({**data.plain(), side: table}))
    return state.replaced(data=data.without(side)) if side == "weights" else state


def _with_settings_named(state: DocumentState, names: Mapping[str, str]) -> DocumentState:
    if not names:
        return state
    settings = training_of(state)
    changes: dict[str, object] = {}
    for option in OUTPUT_OPTIONS:
        declared = TrainingSettings.option(option)
        given, default = declared.plain(settings.option_values[option]), declared.plain_default
        if isinstance(given, dict) and _is_by_output(settings, option):
            changes[option] = _renamed(given, names) or default
    return set_training(state, changes) if changes else state


def _watching_outputs(
    before: DocumentState, after: DocumentState, names: Mapping[str, str]
) -> DocumentState:
    """``after``, its callbacks watching the same numbers as before, by the names they have now.

    Args:
        before: the document whose outputs they were named after.
        after: the one whose outputs count now.
        names: other names that outputs of ``before`` have in ``after``.
    """
    old, new = output_names(before), output_names(after)
    if old == new or not old or not new:
        return after

    def follow(value: Plain) -> Plain:
        if isinstance(value, list):
            return [follow(each) for each in value]
        if not isinstance(value, dict):
            return value
        made = {key: follow(each) for key, each in value.items()}
        watched = made.get("monitor")
        if isinstance(watched, str):
            made["monitor"] = _monitor(watched, old, new, names)
        return made

    given = {key: after.training[key] for key in _WATCHING if key in after.training}
    made = {key: follow(value) for key, value in given.items()}
    return after if made == given else set_training(after, made)


def _monitor(watched: str, old: Sequence[str], new: Sequence[str], names: Mapping[str, str]) -> str:
    """What a number in the log of some outputs is called in that of others."""
    plain = watched.removeprefix("val_")
    part = watched[: len(watched) - len(plain)]
    if plain in ("loss", RATE):
        return watched
    output = old[0] if len(old) == 1 else output_of(plain, old)
    if not output:
        return watched
    metric = plain if len(old) == 1 else plain.removeprefix(f"{output}_")
    now = names.get(output, output)
    if now not in new:
        return f"{part}loss"
    return f"{part}{metric}" if len(new) == 1 else f"{part}{now}_{metric}"


def _renamed(table: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """The table in its order with other keys; those with an empty name are left out."""
    return {to: value for name, value in table.items() if (to := names.get(name, name))}
