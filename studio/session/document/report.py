"""What is known of the network at the moment: state of every layer, problems and totals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias

from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import Port
from studio.engine.train.project.data_settings import BY_NAME
from studio.session.document.state import DocumentState

NodeCondition: TypeAlias = Literal["ok", "warning", "error", "waiting", "unreached"]
Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class InputFacts:
    """What checks need to know of the samples of one input.

    Attributes:
        name: the input's name.
        shape: shape of one sample, without the batch; None until the data is read.
        array: where the data section takes it from, see `array_keys`.
    """

    name: str
    shape: Shape | None
    array: str = ""


@dataclass(frozen=True)
class TargetFacts:
    """What checks need to know of the targets of one output.

    Attributes:
        name: the output's name; empty for the only one.
        shape: shape of one target, without the batch; empty for one class a sample, None until the
            data is read.
        classes: number of classes; 0 where targets are numbers.
        class_names: their names.
        array: where the data section takes it from, see `array_keys`.
    """

    name: str
    shape: Shape | None
    classes: int = 0
    class_names: tuple[str, ...] = ()
    array: str = ""

    @property
    def width(self) -> int:
        """How long the last dimension of predictions is."""
        return self.classes or (self.shape[-1] if self.shape else 1)


_NO_INPUT, _NO_TARGET = InputFacts("", None), TargetFacts("", None)


def array_keys(data: Mapping[str, object] | None, side: str) -> dict[str, str]:
    """For each name in the data section, the array, columns or folder that go to it.

    Args:
        data: the section as a project file holds it.
        side: ``inputs`` or ``targets``.
    """
    table = None if data is None else data.get(side)
    found: dict[str, str] = {}
    part = "" if data is None else BY_NAME.get(str(data.get("source")), "")
    for name, given in table.items() if isinstance(table, Mapping) else ():
        key = given.get(part, name) if isinstance(given, Mapping) else given
        found[name] = key if isinstance(key, str) else json.dumps(key, default=list)
    return found


@dataclass(frozen=True)
class DataFacts:
    """What checks need to know of the data set.

    Attributes:
        sample_shape: shape of one sample of the first input, without the batch.
        kind: ``images``, ``table`` or ``points``; empty for arrays.
        classes: number of classes of the first output; 0 where targets are numbers.
        targets: numbers to be predicted for each sample; 1 where there are classes.
        inputs: the arrays by input; empty where the data feeds one input, whatever its name.
        outputs: the targets by output; empty where the data is for one output.
    """

    sample_shape: Shape
    kind: str = ""
    classes: int = 0
    targets: int = 1
    inputs: tuple[InputFacts, ...] = ()
    outputs: tuple[TargetFacts, ...] = ()

    def under(self, data: Mapping[str, object] | None) -> DataFacts:
        """The same with the names that a data section gives now, which may be read again soon."""
        if not self.inputs or not self.outputs:
            return self
        inputs, targets = array_keys(data, "inputs"), array_keys(data, "targets")
        return replace(
            self,
            inputs=tuple(
                replace(self._input(name, key), name=name, array=key)
                for name, key in inputs.items()
            )
            or self.inputs,
            outputs=tuple(
                replace(self._target(name, key), name=name, array=key)
                for name, key in targets.items()
            )
            or self.outputs,
        )

    def _input(self, name: str, key: str) -> InputFacts:
        found = [each for each in self.inputs if each.array == key]
        return next((e for e in found if e.name == name), found[0] if found else _NO_INPUT)

    def _target(self, name: str, key: str) -> TargetFacts:
        found = [each for each in self.outputs if each.array == key]
        return next((e for e in found if e.name == name), found[0] if found else _NO_TARGET)

    def target_of(self, output: str) -> TargetFacts | None:
        """The targets of an output; None where the data has none for it."""
        if not self.outputs:
            return TargetFacts("", () if self.classes else (self.targets,), self.classes)
        return next((each for each in self.outputs if each.name == output), None)


@dataclass(frozen=True)
class Fix:
    """One repair of a problem, tried before it is offered.

    Attributes:
        text: what it does, a verb first.
        effect: what comes of it, in numbers.
        apply: makes the state with the repair; works on the state the problem was found in.
        kind: the remedy it is an instance of, such as ``Flatten``.
    """

    text: str
    effect: str
    apply: Callable[[DocumentState], DocumentState] = field(compare=False)
    kind: str = ""

    @property
    def label(self) -> str:
        """Text and effect in one line."""
        return f"{self.text} ({self.effect})" if self.effect else self.text


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, said at the first layer it is wrong at.

    Attributes:
        id: what rule is broken, such as ``shape.rank``; the same in every version.
        severity: an error keeps the network from running, a warning does not.
        node: id of the layer, or empty where the network as a whole is meant.
        message: the rule, what was expected and what came.
        hint: what to do, or empty.
        port: the input it is about, or None.
    """

    id: str
    severity: Severity
    node: str
    message: str
    hint: str = ""
    port: int | None = None
    search: Callable[[Problem], tuple[Fix, ...]] | None = field(
        default=None, compare=False, repr=False
    )

    @cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """Repairs that work, the most usual first; looked for when first asked."""
        return () if self.search is None else self.search(self)


@dataclass(frozen=True)
class NodeStatus:
    """How a layer is.

    Attributes:
        state: ok, warning, error, waiting for a layer upstream, or not reached.
        shape: of its output without the batch, where known.
        parameters: numbers it owns, where known.
        message: what to say about it; empty when it is ok.
        shapes: of all its outputs where it has several, else empty.
        reached: whether it takes part; a layer that does not may have a warning.
    """

    state: NodeCondition = "ok"
    shape: Shape | None = None
    parameters: int | None = None
    message: str = ""
    shapes: tuple[Shape, ...] = ()
    reached: bool = True

    @property
    def all_shapes(self) -> tuple[Shape, ...]:
        """Shapes of its outputs, as far as they are known."""
        return self.shapes or (() if self.shape is None else (self.shape,))

    def shape_at(self, output: int) -> Shape | None:
        """Shape of one output, where known."""
        if not self.shapes:
            return self.shape
        return self.shapes[output] if 0 <= output < len(self.shapes) else None


UNKNOWN = NodeStatus("unreached", message="not reached", reached=False)


@dataclass(frozen=True)
class Report:
    """What checks found in one state of the document.

    Attributes:
        nodes: status of every layer and dot.
        problems: errors first, each in running order.
        order: layers that take part, in running order.
        outputs: the network's outputs, marked or automatic.
    """

    nodes: Mapping[str, NodeStatus] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()
    order: tuple[str, ...] = ()
    outputs: tuple[Port, ...] = ()
    totals: tuple[int, int] | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the network can run."""
        return not any(problem.severity == "error" for problem in self.problems)

    @property
    def parameters(self) -> int | None:
        """Numbers the network saves; None while an error stands."""
        return None if self.totals is None or not self.is_valid else sum(self.totals)

    @property
    def trained_parameters(self) -> int | None:
        """Numbers training changes; None while an error stands."""
        return None if self.totals is None or not self.is_valid else self.totals[0]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the network from running."""
        return tuple(p for p in self.problems if p.severity == "error")

    def status(self, node_id: str) -> NodeStatus:
        """Status of a layer or dot."""
        return self.nodes.get(node_id, UNKNOWN)

    def outputs_of(self, node_id: str) -> tuple[int, ...]:
        """Which outputs of a layer are outputs of the network."""
        return tuple(port.output for port in self.outputs if port.node == node_id)

    def problems_of(self, node_id: str) -> tuple[Problem, ...]:
        """The problems found at a layer."""
        return tuple(p for p in self.problems if p.node == node_id)
