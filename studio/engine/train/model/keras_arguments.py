"""Arguments of compile, fit, evaluate and predict as Keras takes them, brought to one form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from studio.engine.compiler.lower import LossWeights, Metrics, Objective, require_outputs
from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.optim.metrics import Metric

DEFAULT_BATCH = 32

UNSUPPORTED: Mapping[str, Mapping[str, object]] = {
    "compile": {
        "run_eagerly": False, "steps_per_execution": 1, "jit_compile": "auto",
        "auto_scale_loss": True,
    },
    "fit": {
        "steps_per_epoch": None, "validation_steps": None, "validation_batch_size": None,
        "validation_freq": 1,
    },
    "evaluate": {"steps": None, "callbacks": None},
    "predict": {"steps": None, "callbacks": None},
}  # fmt: skip
"""What Keras takes and Glassbox does not, with the value that changes nothing."""

Verbose: TypeAlias = int | str
"""0 for silent, 1 or 2 for lines on standard error, ``auto`` for lines."""


def refuse_unsupported(call: str, given: Mapping[str, object]) -> None:
    """ParameterError for an argument that only Keras has, or that nobody has."""
    known = UNSUPPORTED[call]
    for name, value in given.items():
        if name not in known:
            raise ParameterError(f"unknown argument {quoted(name)}", who=call,
                                 hint=did_you_mean(name, known, ""))  # fmt: skip
        if value != known[name] and value != []:
            raise ParameterError(
                f"{name}: Keras has this, Glassbox does not: expected {known[name]}, got "
                f"{quoted(value)}",
                who=call,
            )


def is_told(verbose: Verbose) -> bool:
    """Whether lines are written; ParameterError for what Keras does not take either."""
    if verbose not in ("auto", 0, 1, 2):
        raise ParameterError(f"verbose: expected 0, 1, 2 or 'auto', got {quoted(verbose)}")
    return bool(verbose)


def batch_rows(value: object) -> int:
    """Rows of a step: 32 where none are given, as in Keras."""
    if value is None:
        return DEFAULT_BATCH
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"batch_size: expected a whole number from 1 up, got {quoted(value)}")
    return value


def are_metrics(value: object) -> bool:
    """Whether something is metrics and cannot be loss weights, which are numbers."""
    if isinstance(value, Mapping):
        return any(are_metrics(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(are_metrics(each) for each in value)
    return isinstance(value, str | Metric)


def metrics_by_output(given: object, outputs: Sequence[str], what: str = "metrics") -> Metrics:
    """Metrics in the form `lower` takes.

    Args:
        given: one list; for several outputs a list with an entry for each of them, or an object by
            output name; an entry is a list, a single metric or None. Another list of metrics counts
            for every output.
        outputs: names of the outputs.
        what: the argument, for errors.

    Raises:
        CompileError: a name is no output's.
        ParameterError: it has another form.
    """
    if given is None:
        return ()
    if isinstance(given, Mapping) and "type" not in given:
        require_outputs(given, outputs, what)
        return {name: _metric_list(each) for name, each in given.items()}
    if not isinstance(given, list | tuple):
        raise ParameterError(
            f"{what}: expected a list or an object by output name, got {quoted(given)}",
            who="compile",
        )
    if len(outputs) == 1:
        return [metric for each in given for metric in _metric_list(each)]
    if len(given) == len(outputs):
        return {name: _metric_list(each) for name, each in zip(outputs, given, strict=True)}
    if any(isinstance(each, list | tuple) for each in given):
        raise ParameterError(
            f"{what}: expected a list for each of {', '.join(outputs)}, got {len(given)}",
            who="compile",
        )
    return list(given)


def metrics_for_all(given: object, outputs: Sequence[str]) -> Metrics:
    """Metrics as compile took them in its third place before: a list counts for every output."""
    if isinstance(given, list | tuple) and not any(isinstance(m, list | tuple) for m in given):
        return {name: list(given) for name in outputs}
    return metrics_by_output(given, outputs)


def _metric_list(given: object) -> list[object]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def loss_weights_of(given: object) -> LossWeights:
    """Loss weights in the form `lower` takes: a list, an object by output name, or one number."""
    if given is None:
        return ()
    listed: Iterable[object] = (given,)
    if isinstance(given, Mapping):
        listed = given.values()
    elif isinstance(given, list | tuple):
        listed = given
    for each in listed:
        if isinstance(each, bool) or not isinstance(each, int | float):
            raise ParameterError(
                f"loss_weights: expected numbers, got {quoted(each)}", who="compile",
                hint="metrics are an argument of their own",
            )  # fmt: skip
    if isinstance(given, Mapping):
        return dict(given)
    return [each for each in listed if isinstance(each, int | float)]


def objective_settings(outputs: Sequence[str], compiled: Objective) -> dict[str, object]:
    """What was compiled as training settings: plain for a single output, else by output name."""
    several = len(outputs) > 1
    metrics = dict(zip(outputs, map(list, compiled.metrics), strict=True))
    weighted = dict(zip(outputs, map(list, compiled.weighted), strict=True))
    weights = compiled.weights
    found: dict[str, object] = {
        "loss": dict(zip(outputs, compiled.losses, strict=True)) if several else compiled.losses[0],
        "metrics": metrics if several else metrics[outputs[0]],
        "loss_weights": dict(zip(outputs, weights, strict=True)) if weights else None,
        "weighted_metrics": (),
    }
    if any(weighted.values()):
        found["weighted_metrics"] = weighted if several else weighted[outputs[0]]
    return found


def values_in_order(found: Mapping[str, float], outputs: Sequence[str]) -> list[float]:
    """Numbers in the order of Keras' list: the loss, the loss of each output, the rest by name.

    For a single output the metrics stay in the order they were given in.
    """
    if len(outputs) == 1:
        return list(found.values())
    losses = (f"{name}_loss" for name in outputs)
    first = ["loss", *(name for name in losses if name in found)]
    return [found[name] for name in [*first, *sorted(set(found) - set(first))]]


def arrays_by_name(
    values: object, names: Sequence[str], what: str, optional: Collection[str] = ()
) -> list[object]:
    """One value for each name, from an object by name, a list in order, or a single value.

    Args:
        values: what the user gave.
        names: the inputs or outputs, in order.
        what: the argument, for errors: ``x``, ``y`` or ``sample_weight``.
        optional: names that an object may leave out; None takes their place.

    Raises:
        DataError: a name is unknown or missing, or a list has another length.
    """
    if isinstance(values, Mapping):
        side = "input" if what == "x" else "output"
        for name in values:
            if name not in names:
                raise DataError(
                    f"{what}: the network has no {side} {quoted(name)}", who=what,
                    hint=did_you_mean(name, names, f"known: {', '.join(names)}"),
                )  # fmt: skip
        missing = [name for name in names if name not in values and name not in optional]
        if missing and what != "sample_weight":
            raise DataError(f"{what}: nothing was given for {quoted(missing[0])}", who=what)
        return [values.get(name) for name in names]
    listed = list(values) if isinstance(values, list | tuple) else []
    if listed and all(each is None or hasattr(each, "shape") for each in listed):
        return listed
    return [values]
