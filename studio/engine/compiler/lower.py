"""Lowers a graph of layers to a program: data, forward, loss and metrics sections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from studio.engine.compiler.lower_data import OWNER as DATA
from studio.engine.compiler.lower_data import DataSection, DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import ABSENT, Ref, Role, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, data, move, reduce
from studio.engine.isa.ops import loss as loss_ops
from studio.engine.isa.program import Program
from studio.engine.layers.context import LayerContext
from studio.engine.layers.graph import LayerGraph, Node, Port, output_port
from studio.engine.layers.layer import shape_text
from studio.engine.optim.counted_metrics import CountedMetric
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric, require_apart

MODES = ("train", "evaluate", "infer")

_SMALLEST_SHARE = 1e-20
"""Added to the share of positions that count, so that a batch without any divides by no zero."""

RING_ROWS = 1024
"""Steps the metrics ring holds before it begins again."""


Metrics: TypeAlias = Sequence[object] | Mapping[str, Sequence[object]]
"""A list for every output, or a list for each output by name."""

LossWeights: TypeAlias = Sequence[float] | Mapping[str, float]
"""A factor for each output, in order or by name (1 where one is left out); empty for 1 each."""


@dataclass(frozen=True)
class Objective:
    """What the outputs are compared by.

    Attributes:
        losses: one loss for each output; None for one that no loss trains.
        metrics: for each output the metrics reported.
        weights: factor of each output's loss in the total; empty for 1 each.
        weighted: for each output the metrics that count sample and class weights.
    """

    losses: tuple[Loss | None, ...]
    metrics: tuple[tuple[Metric, ...], ...]
    weights: tuple[float, ...]
    weighted: tuple[tuple[Metric, ...], ...]

    @property
    def several_losses(self) -> bool:
        """Whether the total is made of the losses of several outputs."""
        return len(self.losses) - self.losses.count(None) > 1

    def is_compared(self, index: int) -> bool:
        """Whether an output is compared with targets at all."""
        return bool(self.losses[index] or self.metrics[index] or self.weighted[index])


def is_by_output(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether a value is an object by output name; the JSON form of one loss is none."""
    if not isinstance(value, Mapping):
        return False
    config = value.get("config", {})
    is_one = isinstance(value.get("type"), str) and set(value) <= {"type", "config"}
    return not (is_one and isinstance(config, Mapping))


def require_outputs(given: Mapping[str, object], outputs: Sequence[str], what: str) -> None:
    """CompileError where an object by output name has a name that is no output's."""
    for name in given:
        if name not in outputs:
            raise CompileError(
                f"{what}: the network has no output {quoted(name)}",
                who="compile",
                hint=did_you_mean(name, outputs, f"its outputs are {', '.join(outputs)}"),
            )


def require_loss(outputs: Sequence[str], losses: Sequence[Loss | None]) -> None:
    """CompileError where no output has a loss."""
    if not any(losses):
        one = "the output" if len(outputs) == 1 else "at least one of the outputs"
        raise CompileError(
            f"loss: {one} {', '.join(outputs)} needs a loss", who="compile",
            hint="without one nothing is trained",
        )  # fmt: skip


def _losses_of(outputs: Sequence[str], loss: object) -> tuple[Loss | None, ...]:
    if is_by_output(loss):
        require_outputs(loss, outputs, "loss")
        loss = [loss.get(name) for name in outputs]
    losses = list(loss) if isinstance(loss, list | tuple) else [loss] * len(outputs)
    if len(losses) != len(outputs):
        raise CompileError(
            f"expected a loss for each of {', '.join(outputs)}, got {len(losses)}", who="compile"
        )
    found = tuple(None if one is None else Loss.resolve(one) for one in losses)
    require_loss(outputs, found)
    return found


def _metrics_of(
    outputs: Sequence[str], metrics: Metrics, what: str
) -> tuple[tuple[Metric, ...], ...]:
    chosen = metrics if isinstance(metrics, Mapping) else dict.fromkeys(outputs, metrics)
    require_outputs(chosen, outputs, what)
    return tuple(tuple(Metric.resolve(m) for m in chosen.get(name, ())) for name in outputs)


def _weights_of(outputs: Sequence[str], weights: LossWeights) -> tuple[float, ...]:
    if isinstance(weights, Mapping):
        require_outputs(weights, outputs, "loss_weights")
        weights = [weights.get(name, 1.0) for name in outputs] if weights else ()
    if weights and len(weights) != len(outputs):
        raise CompileError(
            f"expected a weight for each of {', '.join(outputs)}, got {len(weights)}", who="compile"
        )
    return tuple(float(w) for w in weights)


def objective_of(
    outputs: Sequence[str],
    loss: object,
    metrics: Metrics = (),
    weights: LossWeights = (),
    weighted_metrics: Metrics = (),
) -> Objective:
    """An objective from losses and metrics given as instances, names or JSON forms.

    Args:
        outputs: names of the outputs, as `LayerGraph.output_names` has them.
        loss: one for all outputs, a list, or an object by output name. An output whose entry is
            None or left out is trained by no loss.
        metrics: a list for all outputs, or an object with a list by output name.
        weights: factor of each output's loss, in order or by name.
        weighted_metrics: as ``metrics``; they count sample and class weights.

    Raises:
        CompileError: no output has a loss, or a name is no output's; the name is given.
        ParameterError: an unknown loss or metric.
    """
    losses = _losses_of(outputs, loss)
    return Objective(
        losses,
        _metrics_of(outputs, metrics, "metrics"),
        _weights_of(outputs, weights),
        _metrics_of(outputs, weighted_metrics, "weighted_metrics"),
    )


def lower(
    graph: LayerGraph,
    mode: str,
    *,
    loss: object = None,
    metrics: Metrics = (),
    loss_weights: LossWeights = (),
    weighted_metrics: Metrics = (),
    data: DataSpec | None = None,
    masks: bool = False,
) -> Program:
    """The program of a graph in one mode, without backward and update sections.

    Args:
        graph: the network; checked here.
        mode: ``train`` (batch statistics, dropout, augmentation), ``evaluate`` (loss and metrics on
            a trained network) or ``infer`` (from raw input to outputs, self-contained).
        loss: a loss, its name or JSON form; for several outputs also a list, or an object by output
            name, where None is for an output that no loss trains. Not used for ``infer``.
        metrics: list of metrics for every output, as instances, names or JSON forms, or an object
            with a list by output name.
        loss_weights: factor of each output's loss, 1 each by default.
        weighted_metrics: as ``metrics``; they count sample and class weights.
        data: what the program is fed with; by default the caller feeds float32 batches.
        masks: give the masks of the outputs that have one, in place of the outputs; for ``infer``.

    Raises:
        GraphError, ShapeError, ParameterError: something about a layer, which is named.
        CompileError: mode, losses or data do not fit the graph.
    """
    if mode not in MODES:
        raise CompileError(f"expected a mode out of {', '.join(MODES)}, got {mode!r}", who="lower")
    if mode != "infer" and loss is None:
        raise CompileError("a loss is needed to train or evaluate", who=graph.name,
                           hint="choose one, such as sparse_categorical_crossentropy")  # fmt: skip
    graph.check()
    _require_lengths(graph)
    names = graph.output_names()
    objective = None
    if mode != "infer":
        objective = objective_of(names, loss, metrics, loss_weights, weighted_metrics)
    return _Lowering(graph, mode, objective, data).run(masks=masks)


def _require_lengths(graph: LayerGraph) -> None:
    """CompileError naming the first input that has an unknown length."""
    for name, shape in graph.input_shapes.items():
        if None in shape:
            raise CompileError(
                f"a program needs numbers in place of None, got the input {shape_text(shape)}",
                who=name, hint="give the network data, or name the lengths",
            )  # fmt: skip


@dataclass(frozen=True)
class _Compared:
    """What an output is compared with: its predictions, targets, and weights of these."""

    predicted: Ref
    target: Ref
    weights: Ref


@dataclass(frozen=True)
class _MetricWeights:
    """What the entries or positions of a metric weigh; absent where all weigh the same.

    Attributes:
        plain: the weights.
        scaled: with a mean of 1, or all 0.
        mean: of ``plain``: what the value of a batch weighs among those of the epoch.
    """

    plain: Ref = ABSENT
    scaled: Ref = ABSENT
    mean: Ref = ABSENT


class _Lowering:
    """One lowering."""

    def __init__(
        self, graph: LayerGraph, mode: str, objective: Objective | None, spec: DataSpec | None
    ) -> None:
        self.graph = graph
        self.mode = mode
        self.objective = objective
        self.types = graph.types()
        self.names = graph.output_names()
        self.spec = spec or self._plain_spec()
        self._check_spec()
        self.builder = ProgramBuilder(graph.name, mode)
        self.data = DataSection(self.builder, mode, self.spec)
        self.mask_types = graph.masks()
        self.values: dict[Port, Ref] = {}
        self.masks: dict[Port, Ref] = {}
        self.mask_weights: dict[int, Ref] = {}
        self.mask_counts: dict[int, Ref] = {}
        self.mask_shares: dict[int, Ref] = {}
        self.labels: list[str] = []
        self.weighed_by: dict[str, Ref] = {}
        self.counted: list[dict[str, object]] = []

    def run(self, *, masks: bool = False) -> Program:
        """The finished program; its outputs are the network's, or their masks."""
        self._make_inputs()
        with self.builder.owned_by(DATA):
            for index, node in enumerate(self.graph.inputs):
                self.data.feed_input(index, self.values[Port(node.id)], node.layer.name)
            step = ABSENT if self.mode == "infer" else self.data.step()
        context = LayerContext(self.builder, self.mode == "train", step)
        for node in self.graph.order():
            if Port(node.id) not in self.values:
                self._lower_node(context, node)
        predictions = [self.values[port] for port in self.graph.outputs]
        outputs = list(predictions)
        if masks:
            outputs = [self.masks[port] for port in self.graph.outputs if port in self.masks]
        if self.objective is not None:
            outputs.append(self._emit_objective(context, self.objective, predictions))
        meta = {**self.spec.meta, **self._stated_names()}
        if self.labels:
            meta["metrics"] = json.dumps(self.labels)
        if self.weighed_by:
            columns = [*dict.fromkeys(self.weighed_by.values())]
            meta["metric_weights"] = json.dumps(
                {label: columns.index(ref) for label, ref in self.weighed_by.items()}
            )
        if self.counted:
            meta["counted"] = json.dumps(self.counted)
        return self.builder.finish(tuple(self.data.fed), tuple(outputs), meta)

    def _stated_names(self) -> dict[str, str]:
        """Names of inputs and outputs where the names of their tensors do not tell them."""
        made: dict[str, tuple[str, ...]] = {}
        entries = self.graph.inputs
        own = [self.values[Port(node.id)] for node in entries]
        if self.mode == "infer" and len(entries) > 1 and list(self.data.fed) != own:
            # Raw data is fed to tensors of the data section.
            made["input_names"] = tuple(node.layer.name for node in entries)
        if any(port.output for port in self.graph.outputs):
            made["output_names"] = self.names
        return {key: json.dumps(names, ensure_ascii=False) for key, names in made.items()}

    def _make_inputs(self) -> None:
        for index, node in enumerate(self.graph.inputs):
            type_ = self.types[Port(node.id)]
            fed = self.data.is_fed_directly(index, type_.dtype)
            with self.builder.owned_by(node.id, layer=node.id):
                self.values[Port(node.id)] = self.builder.tensor(
                    f"{node.layer.name}/output",
                    *type_,
                    role=Role.INPUT if fed else Role.ACTIVATION,
                    port="output",
                )

    def _lower_node(self, context: LayerContext, node: Node) -> None:
        inputs = [self.values[port] for port in node.inputs]
        masks = tuple(self.masks.get(port, ABSENT) for port in node.inputs)
        with context.inside(node.id, node.layer, crossed=self._is_crossed(node), masks=masks):
            context.output_masks = self._lower_masks(context, node, inputs)
            made = node.layer.lower(context, *inputs)
        outputs = (made,) if isinstance(made, Ref) else made
        for index, ref in enumerate(outputs):
            port, found = Port(node.id, index), self.builder.type_of(ref)
            if self.types.get(port) != found:
                raise CompileError(
                    f"output_types states {self.types.get(port, 'nothing')} for output {index}, "
                    f"lower made {found}",
                    who=node.layer.name,
                )
            self.values[port] = ref
            if len(outputs) > 1:
                self.builder.name_port(ref, node.id, output_port(index))
        if Port(node.id, len(outputs)) in self.types:
            raise CompileError(
                f"lower made {len(outputs)} outputs, output_types states more", who=node.layer.name
            )

    def _lower_masks(self, context: LayerContext, node: Node, inputs: list[Ref]) -> tuple[Ref, ...]:
        """The masks of a node's outputs, noted where there are any."""
        made = node.layer.lower_masks(context, *inputs)
        for index, ref in enumerate(made):
            port = Port(node.id, index)
            found = self.builder.type_of(ref) if ref.present else None
            if self.mask_types.get(port) != found:
                raise CompileError(
                    f"mask_types states {self.mask_types.get(port, 'nothing')} for output {index}, "
                    f"lower_masks made {found or 'nothing'}",
                    who=node.layer.name,
                )
            if found is not None:
                self.masks[port] = ref
        return made

    def _is_crossed(self, node: Node) -> bool:
        """Whether the node's softmax may pass on the gradient its loss has already taken."""
        if self.objective is None or self.graph.outputs.count(Port(node.id)) != 1:
            return False
        if Port(node.id, 1) in self.types:
            return False
        if any(Port(node.id) in other.inputs for other in self.graph.nodes.values()):
            return False
        loss = self.objective.losses[self.graph.outputs.index(Port(node.id))]
        rank = len(self.types[Port(node.id)].shape)
        return loss is not None and loss.joins_softmax and node.layer.ending(rank) == "softmax"

    def _emit_objective(
        self, context: LayerContext, objective: Objective, predictions: list[Ref]
    ) -> Ref:
        compared: dict[int, _Compared] = {}
        terms: dict[int, Ref] = {}
        for index, port in enumerate(self.graph.outputs):
            if not objective.is_compared(index):
                continue
            node, loss = self.graph.nodes[port.node], objective.losses[index]
            with self.builder.owned_by(DATA):
                indices = None if loss is None else loss.indices
                target = self.data.feed_target(
                    index, self.types[port].sample, indices, node.layer.name
                )
                own = self.data.weights(index, target)
            with self.builder.owned_by("loss"):
                weights = own
                if port in self.masks:
                    weights = self._mask_weights(index, self.masks[port], own)
                if loss is not None:
                    terms[index] = loss.emit(
                        self.builder, predictions[index], target,
                        weights=weights, joined=self._is_crossed(node),
                        name=self._loss_name(context, index),
                    )  # fmt: skip
            compared[index] = _Compared(predictions[index], target, own)
        total = self._emit_total(context, objective, terms)
        self._emit_metrics(objective, compared, terms, total)
        return total

    def _mask_weights(self, index: int, mask: Ref, weights: Ref) -> Ref:
        """Weights by position of an output with a mask, times those it has (Keras' rule).

        A position that counts weighs total/counting, so that the mean over all positions is one
        over those that count; without any the loss is 0. Metrics weigh by the mask alone.
        """
        name = "loss/mask" if len(self.graph.outputs) == 1 else f"loss/{self.names[index]}/mask"

        def emit(cls: type[Instruction], part: str, /, **fields: object) -> Ref:
            return self.builder.emit("loss", cls, name=f"{name}/{part}", port="mask", **fields)[0]

        counts = emit(move.Cast, "counts", x=mask, dtype="float32")
        share = emit(reduce.ReduceMean, "share", x=counts)
        divisor = emit(arithmetic.AddScalar, "divisor", x=share, beta=_SMALLEST_SHARE)
        found = emit(arithmetic.Div, "weights", a=counts, b=divisor)
        self.mask_weights[index], self.mask_counts[index] = found, counts
        self.mask_shares[index] = share
        return self._product("loss", f"{name}/", "mask", found, weights)

    def _product(self, section: str, name: str, port: str, a: Ref, b: Ref) -> Ref:
        """Weights of entries or positions times others; those that are there where not both are."""
        if not (a.present and b.present):
            return a if a.present else b
        ranks = [len(self.builder.type_of(ref).shape) for ref in (a, b)]
        wide = [
            ref
            if rank == max(ranks)
            else self.builder.emit(
                section, move.Reshape, name=f"{name}wide", port=port, x=ref,
                shape=(*self.builder.type_of(ref).shape, *[1] * (max(ranks) - rank)),
            )[0]
            for ref, rank in zip((a, b), ranks, strict=True)
        ]  # fmt: skip
        return self.builder.emit(
            section, arithmetic.Mul, name=f"{name}product", port=port, a=wide[0], b=wide[1]
        )[0]

    def _loss_name(self, context: LayerContext, index: int) -> str:
        """``loss/total`` where the loss of the only output that has one is all there is."""
        objective = self.objective
        if objective is None or objective.several_losses:
            return f"loss/{self.names[index]}"
        weighted = bool(objective.weights) and objective.weights[index] != 1.0
        return "loss/value" if context.penalties or weighted else "loss/total"

    def _emit_total(
        self, context: LayerContext, objective: Objective, terms: Mapping[int, Ref]
    ) -> Ref:
        """The weighted sum of losses and weight penalties; the last line of the section."""
        weights = objective.weights
        parts = [(term, weights[index] if weights else 1.0) for index, term in terms.items()]
        for penalty in context.penalties:
            with self.builder.owned_by(penalty.owner, layer=penalty.owner):
                l1, l2 = penalty.penalty.factors
                value = self.builder.emit(
                    "loss", loss_ops.LossL1L2, name=penalty.name, port="penalty",
                    w=penalty.weight, l1=l1, l2=l2,
                )[0]  # fmt: skip
            parts.append((value, 1.0))
        total, factor = parts[0]
        with self.builder.owned_by("loss"):
            for position, (term, own) in enumerate(parts[1:], 2):
                name = "loss/total" if position == len(parts) else f"loss/sum{position}"
                total = self.builder.emit(
                    "loss", arithmetic.Add, name=name, x1=total, x2=term, alpha=factor, beta=own
                )[0]
                factor = 1.0
            if factor != 1.0:
                total = self.builder.emit(
                    "loss", arithmetic.Scale, name="loss/total", x=total, alpha=factor
                )[0]
        return total

    def _emit_metrics(
        self,
        objective: Objective,
        compared: Mapping[int, _Compared],
        terms: Mapping[int, Ref],
        total: Ref,
    ) -> None:
        values = [total]
        self.labels = ["loss"]
        if objective.several_losses:
            values += terms.values()
            self.labels += [f"{self.names[index]}_loss" for index in terms]
        with self.builder.owned_by("metrics"):
            for index, one in compared.items():
                head = f"{self.names[index]}_" if len(self.names) > 1 else ""
                plain = _MetricWeights()
                if index in self.mask_weights:
                    plain = _MetricWeights(
                        self.mask_counts[index], self.mask_weights[index], self.mask_shares[index]
                    )
                labels = [metric.label for metric in objective.metrics[index]]
                for metric in objective.metrics[index]:
                    values += self._emit_metric(metric, f"{head}{metric.label}", one, plain)
                weights = (
                    self._metric_weights(index, one, head) if objective.weighted[index] else plain
                )
                for metric in objective.weighted[index]:
                    # The name that Keras gives.
                    label = f"weighted_{metric.label}" if metric.label in labels else metric.label
                    labels.append(label)
                    values += self._emit_metric(metric, f"{head}{label}", one, weights)
            counted = (str(each["label"]) for each in self.counted)
            require_apart([*self.labels, *counted], self.names)
            self._emit_record([*values, *dict.fromkeys(self.weighed_by.values())])

    def _emit_metric(
        self, metric: Metric, label: str, one: _Compared, weights: _MetricWeights
    ) -> list[Ref]:
        """The value of a metric, for the ring; nothing for one that counts."""
        if isinstance(metric, CountedMetric):
            self.counted.append(
                self._emit_counts(metric, one.predicted, one.target, weights.plain, label)
            )
            return []
        name = f"metrics/{label}"
        self.labels.append(label)
        if not weights.plain.present:
            return [metric.emit(self.builder, one.predicted, one.target, name)]
        self.weighed_by[label] = weights.mean
        return [metric.emit_weighted(self.builder, one.predicted, one.target, weights.scaled, name)]

    def _metric_weights(self, index: int, one: _Compared, head: str) -> _MetricWeights:
        """The weights of an output's samples, classes and mask, for metrics that count them."""
        counts, name = self.mask_counts.get(index, ABSENT), f"metrics/{head}weights/"
        found = self._product("metrics", name, "weights", counts, one.weights)
        if not found.present:
            return _MetricWeights()

        def emit(cls: type[Instruction], part: str, /, **fields: object) -> Ref:
            return self.builder.emit(
                "metrics", cls, name=f"{name}{part}", port="weights", **fields
            )[0]

        mean = emit(reduce.ReduceMean, "mean", x=found)
        divisor = emit(arithmetic.AddScalar, "divisor", x=mean, beta=_SMALLEST_SHARE)
        return _MetricWeights(found, emit(arithmetic.Div, "scaled", a=found, b=divisor), mean)

    def _emit_counts(
        self, metric: CountedMetric, p: Ref, t: Ref, weights: Ref, label: str
    ) -> dict[str, object]:
        """Count for a metric; what the program says of it."""
        place = len(self.labels) + len(self.counted)
        group, names = "train" if self.mode == "train" else "eval", dict[str, str]()

        def keep(port: str, shape: Shape, dtype: DType) -> Ref:
            ref = self.builder.tensor(
                f"{group}/{label}/{port}", shape, dtype, Role.METRIC, late=True
            )
            names[port] = self.builder.peek(ref).name
            return ref

        metric.count(self.builder, p, t, keep, weights)
        return {"label": label, "metric": metric.to_json(), "counts": names, "place": place}

    def _emit_record(self, values: list[Ref]) -> None:
        group = "train" if self.mode == "train" else "eval"
        ring = self.builder.tensor(
            f"{group}/ring", (RING_ROWS, len(values)), role=Role.METRIC, late=True
        )
        step = self.data.step()
        self.builder.append("metrics", data.Record(values=values, ring=ring, step=step))
        self.builder.append("metrics", data.Advance(x=self.data.batches[0], step=step))

    def _plain_spec(self) -> DataSpec:
        """Float32 batches fed by the caller, with targets as the losses take them."""
        targets: list[Source | None] = []
        for index, port in enumerate(self.graph.outputs if self.objective else ()):
            shape: Shape = self.types[port].sample
            loss = None if self.objective is None else self.objective.losses[index]
            indices = loss is not None and loss.indices
            targets.append(Source(shape[:-1], DType.int32) if indices else Source(shape))
        types = (self.types[Port(node.id)] for node in self.graph.inputs)
        inputs = tuple(Source(found.sample, found.dtype) for found in types)
        return DataSpec(inputs, tuple(targets), resident=False)

    def _check_spec(self) -> None:
        wanted = len(self.graph.inputs), 0 if self.objective is None else len(self.graph.outputs)
        got = len(self.spec.inputs), len(self.spec.targets)
        if got[0] != wanted[0] or (wanted[1] and got[1] != wanted[1]):
            raise CompileError(
                f"expected data for {wanted[0]} inputs and {wanted[1]} outputs, got {got[0]} and "
                f"{got[1]}",
                who=self.graph.name,
            )
        for kind, given, fitting in (
            ("class weights", len(self.spec.class_weights), (0, wanted[1])),
            ("sample weights", len(self.spec.sample_weights), (0, 1, wanted[1])),
        ):
            if wanted[1] and given not in fitting:
                raise CompileError(
                    f"expected {kind} for {wanted[1]} outputs, got {given}", who=self.graph.name
                )
