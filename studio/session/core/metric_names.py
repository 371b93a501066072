"""Names of logged metrics: which output they are of, and how text writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from studio.engine.layers.graph import LayerGraph
from studio.engine.optim.metrics import metric_words

_LOSS = "_loss"
_VALIDATION = "val_"


def named_outputs(graph: LayerGraph) -> tuple[str, ...]:
    """Outputs by which the numbers of a training are named; none where there is only one."""
    names = graph.output_names()
    return names if len(names) > 1 else ()


def outputs_in(names: Iterable[str]) -> tuple[str, ...]:
    """What the outputs of a log seem to be where its network cannot be read.

    A training of several outputs logs the loss of each, as ``kind_loss``.
    """
    plain = dict.fromkeys(name.removeprefix(_VALIDATION) for name in names)
    found = tuple(name.removesuffix(_LOSS) for name in plain if name.endswith(_LOSS))
    return found if len(found) > 1 else ()


def output_of(name: str, outputs: Sequence[str]) -> str:
    """The output a logged name is of; empty for the total and for what is of no output."""
    plain = name.removeprefix(_VALIDATION)
    found = [output for output in outputs if plain.startswith(f"{output}_")]
    return max(found, key=len, default="")


def by_output(names: Iterable[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """The same names, those of no output first, then those of each output together."""
    place = {"": -1, **{output: number for number, output in enumerate(outputs)}}
    return tuple(sorted(names, key=lambda name: place[output_of(name, outputs)]))


def metric_title(metric: str, outputs: Sequence[str] = ()) -> str:
    """What a metric is called: ``Learning rate``, ``Val AUC``, and of an output ``kind: loss``.

    Args:
        metric: its logged name.
        outputs: the outputs of the same log, see `named_outputs`.
    """
    text = metric_text(metric, outputs)
    return text if output_of(metric, outputs) else raised(text)


def metric_text(metric: str, outputs: Sequence[str] = ()) -> str:
    """The same inside a sentence: ``val AUC``, and of an output ``kind: loss``."""
    output = output_of(metric, outputs)
    if not output:
        return metric_words(metric)
    part = "val " if metric.startswith(_VALIDATION) else ""
    plain = metric.removeprefix(_VALIDATION).removeprefix(f"{output}_")
    return f"{output}: {part}{metric_words(plain)}"


def raised(words: str) -> str:
    """With a capital in front."""
    return words[:1].upper() + words[1:]
