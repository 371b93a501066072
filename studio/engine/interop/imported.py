"""What a file of a foreign model became: a network with its weights, and a report of how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.options import Plain
from studio.engine.layers.graph import LayerGraph
from studio.engine.optim.optimizers import Optimizer

Array: TypeAlias = npt.NDArray[np.generic]


@dataclass(frozen=True)
class ImportedLayer:
    """One layer of the file, and what it became.

    Attributes:
        name: in the file, with the models it stands in: ``encoder/conv1``.
        kind: its class in the file.
        layer: name of the layer it became; empty where it became none, as an input of a nested
            model does.
        note: what is different, in a few words; empty for the same layer of the same name.
    """

    name: str
    kind: str
    layer: str = ""
    note: str = ""


@dataclass(frozen=True)
class ImportReport:
    """What became of what was in a file.

    Attributes:
        source: name of the file, without its folder.
        form: title of the format, with the version and program that wrote it where it says so.
        layers: every layer of the file, in its order.
        left_out: what was in the file and is not in the model, one sentence each.
        remarks: what else is worth knowing, such as weights that are no finite numbers.
    """

    source: str
    form: str
    layers: tuple[ImportedLayer, ...] = ()
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The report as text: what changed, what was left out and the remarks."""
        changed = [each for each in self.layers if each.note]
        count = len(self.layers)
        # Weights alone have no layers.
        layers = f", {count} layer{'' if count == 1 else 's'}" if count else ""
        said = [f"{self.source}: {self.form}{layers}"]
        said += [f"{each.name} ({each.kind}): {each.note}" for each in changed]
        said += [f"left out: {each}" for each in self.left_out]
        return [*said, *self.remarks]

    def with_left_out(self, texts: Iterable[str]) -> ImportReport:
        """The same, with more that is not in the model."""
        return replace(self, left_out=(*self.left_out, *texts))

    def to_json(self) -> dict[str, Plain]:
        """Plain data for ``--json``."""
        return {
            "source": self.source,
            "format": self.form,
            "layers": [
                {"name": each.name, "class": each.kind, "layer": each.layer, "note": each.note}
                for each in self.layers
            ],
            "left_out": list(self.left_out),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class ImportedTraining:
    """How a model was compiled, and how far its training is.

    Attributes:
        optimizer: None where the file has none that is known here; the report says which.
        loss: by name of the output, in the form settings have it; None for an output without.
        loss_weights: by name of the output.
        metrics: names or forms by name of the output.
        weighted_metrics: likewise.
        steps: how many updates the optimiser has made.
        slots: its state as stored here, by ``<layer>/<role>/<slot>`` with the slots of its rule.
    """

    optimizer: Optimizer | None = None
    loss: Mapping[str, Plain] = field(default_factory=dict)
    loss_weights: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, tuple[Plain, ...]] = field(default_factory=dict)
    weighted_metrics: Mapping[str, tuple[Plain, ...]] = field(default_factory=dict)
    steps: int = 0
    slots: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportedModel:
    """A network from a file.

    Attributes:
        name: of the model.
        graph: the network; ``graph.nested`` has the models nested in it.
        weights: by tensor name ``<layer>/<role>``, as stored here.
        report: what became of what was in the file.
        facts: what the file says of data, normalisation and classes, as text.
        training: how it was compiled; None where the file does not say.
    """

    name: str
    graph: LayerGraph
    weights: Mapping[str, Array]
    report: ImportReport
    facts: Mapping[str, str] = field(default_factory=dict)
    training: ImportedTraining | None = None
