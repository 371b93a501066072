"""What is known of the network at the moment: state of every layer, problems and totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias

from studio.engine.core.tensor import Shape
from studio.session.document.state import DocumentState

NodeCondition: TypeAlias = Literal["ok", "warning", "error", "waiting", "unreached"]
Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class DataFacts:
    """What checks need to know of the data set.

    Attributes:
        sample_shape: shape of one sample, without the batch.
        kind: ``images``, ``table`` or ``points``; empty for arrays.
        classes: number of classes; 0 where targets are numbers.
        targets: numbers to be predicted for each sample; 1 where there are classes.
    """

    sample_shape: Shape
    kind: str = ""
    classes: int = 0
    targets: int = 1


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
    """

    state: NodeCondition = "ok"
    shape: Shape | None = None
    parameters: int | None = None
    message: str = ""


UNKNOWN = NodeStatus("unreached", message="not reached")


@dataclass(frozen=True)
class Report:
    """What checks found in one state of the document.

    Attributes:
        nodes: status of every layer and dot.
        problems: errors first, each in running order.
        order: layers that take part, in running order.
        outputs: ids of the network's outputs, marked or automatic.
    """

    nodes: Mapping[str, NodeStatus] = field(default_factory=lambda: MappingProxyType({}))
    problems: tuple[Problem, ...] = ()
    order: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
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

    def problems_of(self, node_id: str) -> tuple[Problem, ...]:
        """The problems found at a layer."""
        return tuple(p for p in self.problems if p.node == node_id)
