"""The data section: batches gathered, normalised, augmented; targets brought to the loss's form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from studio.engine.compiler.lower_augment import (
    Augmentation,
    following_refusal,
    image_inputs,
    moved_with,
)
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, ShapeError
from studio.engine.core.philox import stream_of
from studio.engine.core.tensor import ABSENT, BATCH, ROWS, Ref, Role, Shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import arithmetic, data, move, reduce
from studio.engine.layers.layer import shape_text

OWNER = "data"


@dataclass(frozen=True)
class Source:
    """One array of a data set as the program sees it.

    Attributes:
        shape: shape of one sample; empty for class indices.
        dtype: element type as stored.
        scale: factors along the last axis (or one for all), empty for no normalisation.
        shift: offsets, as many as factors.
        classes: number of classes where the array holds class indices; 0 when not known.
    """

    shape: Shape
    dtype: DType = DType.float32
    scale: tuple[float, ...] = ()
    shift: tuple[float, ...] = ()
    classes: int = 0


@dataclass(frozen=True)
class DataSpec:
    """What a program is fed with.

    Attributes:
        inputs: one source for each input of the graph.
        targets: one source for each output of the graph; None for one without targets.
        resident: batches are gathered from ``data/x``, ``data/y`` on the device; otherwise the
            caller feeds each batch.
        augment: changes of images, in order; random ones apply in training only. Of several
            inputs they change all of [height, width, channels]; places move alike in all of them,
            and targets and weights of places follow a flip.
        class_weights: for each target the factor of each class in the training loss, empty where a
            target has none; empty for no class weights at all.
        sample_weights: shape of one sample's weight, ``()`` or a shape of positions: one entry for
            all targets (``data/w``), or one for each (``data/w/0`` …), None where a target has
            none; empty for no sample weights.
        meta: text facts that travel with the program, such as class names.
        streams: the order on the device counts samples that are on their way; the number of each in
            the data set, by which augmentation draws, stands beside it (``train/numbers``).
        variant: tells the data of samples of one length from that of others on the same device; it
            stands in the names of data and order (``data-12/x``). Empty where there is only one.
    """

    inputs: tuple[Source, ...]
    targets: tuple[Source | None, ...] = ()
    resident: bool = True
    augment: tuple[Augmentation, ...] = ()
    class_weights: tuple[tuple[float, ...], ...] = ()
    sample_weights: tuple[Shape | None, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    variant: str = ""
    streams: bool = False


def data_group(group: str, spec: DataSpec) -> str:
    """What the names of data or order of a mode begin with."""
    return f"{group}-{spec.variant}" if spec.variant else group


class DataSection:
    """Writes the data section of one program.

    Args:
        builder: receives tensors (numbered behind the model's) and instructions.
        mode: ``train``, ``evaluate`` or ``infer``.
        spec: what there is to feed.
    """

    def __init__(self, builder: ProgramBuilder, mode: str, spec: DataSpec) -> None:
        self.fed: list[Ref] = []
        self.batches: list[Ref] = []
        self._builder = builder
        self._mode = mode
        self._spec = spec
        self._arrays = data_group("data" if mode == "train" else "eval", spec)
        self._control = "train" if mode == "train" else "eval"
        self._made: dict[str, Ref] = {}

    @property
    def gathers(self) -> bool:
        """Whether batches come from resident data."""
        return self._spec.resident and self._mode != "infer"

    def step(self) -> Ref:
        """The step block of this mode."""
        return self._once(f"{self._control}/step", (data.STEP_WORDS,), DType.int32, Role.STEP)

    def order(self) -> Ref:
        """The order of the samples of this mode."""
        name = f"{data_group(self._control, self._spec)}/order"
        return self._once(name, (ROWS,), DType.int32, Role.DATA)

    def numbers(self) -> Ref:
        """The number in the data set of each sample of the order."""
        if not self._spec.streams:
            return self.order()
        name = f"{data_group(self._control, self._spec)}/numbers"
        return self._once(name, (ROWS,), DType.int32, Role.DATA)

    def is_fed_directly(self, index: int, wanted: DType) -> bool:
        """Whether the caller feeds the input of dtype ``wanted`` itself."""
        source = self._spec.inputs[index]
        return not (
            self.gathers or source.scale or source.dtype is not wanted or self._changes(index)
        )

    def feed_input(self, index: int, network: Ref, who: str) -> None:
        """Emit what leads from the samples of input ``index`` to the tensor ``network``."""
        source = self._spec.inputs[index]
        wanted = self._builder.type_of(network)
        if source.shape != wanted.sample:
            raise ShapeError(
                f"expected samples {shape_text(wanted.sample)}, got {shape_text(source.shape)}",
                who=who,
                hint=f"give the Input layer the shape {shape_text(source.shape)}",
            )
        if wanted.dtype is not DType.float32:
            self._check_whole(index, source, who)
        if self.is_fed_directly(index, wanted.dtype):
            self.fed.append(network)
            self.batches.append(network)
            return
        part = f"x{self._suffix(index, len(self._spec.inputs))}"
        steps = self._steps(index, source, wanted.dtype)
        if not self.gathers:
            raw = self._late(f"raw/{part}", (BATCH, *source.shape), source.dtype, Role.INPUT)
            self.fed.append(raw)
        else:
            raw = self._gather(part, source, ABSENT if steps else network)
        self.batches.append(raw)
        for position, (name, cls, fields) in enumerate(steps, 1):
            target = network if position == len(steps) else ABSENT
            raw = self._emit(cls, f"batch/{part}/{name}", target, x=raw, **fields)

    def feed_target(self, index: int, predicted: Shape, indices: bool | None, who: str) -> Ref:
        """Targets of output ``index`` in the form its loss takes; the batch tensor or one after it.

        Args:
            index: which output.
            predicted: shape of the predictions without the batch.
            indices: whether the loss takes class indices instead of rows; None without a loss,
                where the targets stay what they are.
            who: the output's layer, for errors.
        """
        source = self._spec.targets[index]
        if source is None:
            raise CompileError(
                "a loss or metrics need targets, and the data has none for this output", who=who,
                hint="give it targets, or neither loss nor metrics",
            )  # fmt: skip
        if indices is None:
            indices = source.shape == predicted[:-1] and predicted[-1] > 1
        part = f"y{self._suffix(index, len(self._spec.targets))}"
        if source.classes > predicted[-1] > 1:
            raise ShapeError(
                f"expected at least {source.classes} outputs for {source.classes} classes, got "
                f"{predicted[-1]}",
                who=who,
                hint=f"give the last layer {source.classes} units",
            )
        t = self._moved(self._raw_target(part, source), part, who)
        if source.shape == predicted[:-1] and source.dtype is not DType.float32:
            t = self._cast(t, DType.int32, part)
            return t if indices else self._rows(t, predicted, part)
        if source.shape != predicted:
            classes = "class indices" if not predicted[:-1] else shape_text(predicted[:-1])
            raise ShapeError(
                f"expected targets {shape_text(predicted)} or {classes}, got "
                f"{shape_text(source.shape)} of {source.dtype.name}",
                who=who,
                hint="make the output of the last layer as wide as the targets",
            )
        if indices:
            rows = self._cast(t, DType.float32, part)
            return self._emit(reduce.ArgMax, f"batch/{part}/index", x=rows)
        return self._cast(t, DType.float32, part)

    def weights(self, index: int, target: Ref) -> Ref:
        """Weight of each entry of output ``index`` from its class and its sample, or absent."""
        by_class = self._spec.class_weights[index] if self._spec.class_weights else ()
        found = ABSENT
        if by_class and self._mode == "train":
            found = self._class_weights(index, target, by_class)
        own = ABSENT if self._mode == "infer" else self._sample_weights(index)
        if found.present and own.present:
            suffix = self._suffix(index, len(self._spec.targets))
            return self._emit(arithmetic.Mul, f"batch/w{suffix}/product", a=found, b=own)
        return found if found.present else own

    def _sample_weights(self, index: int) -> Ref:
        """The weights given with the samples; gathered once where all outputs share them."""
        shapes = self._spec.sample_weights
        if not shapes:
            return ABSENT
        place = index if len(shapes) > 1 else 0
        shape = shapes[place]
        if shape is None:
            return ABSENT
        part = f"w{self._suffix(place, len(shapes))}"
        if part not in self._made:
            self._made[part] = self._moved(self._raw_target(part, Source(shape)), part, OWNER)
        return self._made[part]

    def _class_weights(self, index: int, target: Ref, values: tuple[float, ...]) -> Ref:
        shape, dtype = self._builder.type_of(target)
        suffix = self._suffix(index, len(self._spec.targets))
        part = f"y{suffix}"
        classes = target
        if dtype is not DType.int32:
            if len(shape) != 2:
                raise CompileError("class weights need one class for each sample", who=OWNER)
            if shape[1] == 1:
                whole = self._cast(target, DType.int32, f"{part}/class")
                classes = self._emit(move.Reshape, f"batch/{part}/class", x=whole, shape=(BATCH,))
            else:
                classes = self._emit(reduce.ArgMax, f"batch/{part}/class", x=target)
        elif len(shape) != 1:
            raise CompileError("class weights need one class for each sample", who=OWNER)
        table = self._constant(f"data/class_weights{suffix}", values)
        return self._emit(data.TakeRows, f"batch/class_weight{suffix}", table=table, i=classes)

    def _steps(
        self, index: int, source: Source, wanted: DType
    ) -> list[tuple[str, type[Instruction], dict[str, Any]]]:
        """Instructions between the raw batch and the network input."""
        steps: list[tuple[str, type[Instruction], dict[str, Any]]] = []
        if source.scale:
            self._check_normalization(source)
            suffix = self._suffix(index, len(self._spec.inputs))
            constants = {
                "scale": self._constant(f"data/scale{suffix}", source.scale),
                "shift": self._constant(f"data/shift{suffix}", source.shift),
            }
            steps.append(("normalized", data.Normalize, constants))
        elif source.dtype is not wanted:
            name = "float" if wanted is DType.float32 else wanted.name
            steps.append((name, move.Cast, {"dtype": wanted.name}))
        for name, change in self._changes(index):
            if len(source.shape) != 3:
                raise ShapeError(
                    f"{name}: expected images [height, width, channels], got "
                    f"{shape_text(source.shape)}",
                    who="augmentation",
                    hint="remove the augmentation, or load the data as images",
                )
            steps.append((name, change.instruction, self._drawn(name, change, index)))
        return steps

    def _drawn(self, name: str, change: Augmentation, index: int) -> dict[str, Any]:
        """Fields of the instruction that changes input ``index``."""
        fields = change.attributes() | {
            "order": self.numbers() if self.gathers else self._blank_order(),
            "step": self.step() if self._mode != "infer" else self._blank_step(),
        }
        if change.random:
            # Places move alike in all images of a sample; noise is drawn for each.
            own = "" if change.moves or index == self._images[0] else f"/{index}"
            fields["stream"] = stream_of(f"data/{name}{own}")
        return fields

    @property
    def _images(self) -> tuple[int, ...]:
        """Places of the inputs that are augmented."""
        return image_inputs([source.shape for source in self._spec.inputs])

    def _moved(self, ref: Ref, part: str, who: str) -> Ref:
        """Targets or weights of places, flipped as the images are."""
        shapes = [source.shape for source in self._spec.inputs]
        shape, dtype = self._builder.type_of(ref)
        if self._mode != "train" or not moved_with(self._spec.augment, shapes, shape[1:]):
            return ref
        refusal = following_refusal(self._spec.augment)
        if refusal:
            raise CompileError(refusal, who=who, hint="use flip alone, or remove the augmentation")
        rank = len(shape)
        moved = self._cast(ref, DType.float32, part)
        if rank != 4:
            wide = (*shape, 1) if rank == 3 else (*shape[:3], prod(shape[3:]))
            moved = self._emit(move.Reshape, f"batch/{part}/pixels", x=moved, shape=wide)
        for name, change in self._changes(self._images[0]):
            if change.moves:
                fields = self._drawn(name, change, self._images[0])
                moved = self._emit(change.instruction, f"batch/{part}/{name}", x=moved, **fields)
        if rank != 4:
            moved = self._emit(move.Reshape, f"batch/{part}/moved", x=moved, shape=shape)
        return self._cast(moved, DType.int32 if dtype is not DType.float32 else dtype, part)

    def _changes(self, index: int) -> list[tuple[str, Augmentation]]:
        """Augmentations of an input in this mode, repeated roles numbered."""
        found: list[tuple[str, Augmentation]] = []
        for change in self._spec.augment if index in self._images else ():
            count = sum(type(c) is type(change) for _, c in found)
            name = f"{change.role}_{count + 1}" if count else change.role
            if not change.random or self._mode == "train":
                found.append((name, change))
        return found

    def _check_whole(self, index: int, source: Source, who: str) -> None:
        """CompileError where an input of whole numbers would get others."""
        found, hint = "", ""
        if source.dtype not in (DType.int32, DType.uint8, DType.bool):
            found, hint = source.dtype.name, "give the Input layer the dtype float32"
        elif source.scale:
            found, hint = "normalised ones", "turn normalisation off"
        elif self._changes(index):
            found, hint = "augmented ones", "remove the augmentation"
        if found:
            raise CompileError(f"expected whole numbers, got {found}", who=who, hint=hint)

    def _check_normalization(self, source: Source) -> None:
        last = source.shape[-1] if source.shape else 1
        if len(source.scale) not in (1, last) or len(source.shift) != len(source.scale):
            raise ShapeError(
                f"expected 1 or {last} factors and as many offsets, got {len(source.scale)} and "
                f"{len(source.shift)}",
                who="normalization",
            )

    def _raw_target(self, part: str, source: Source) -> Ref:
        if self.gathers:
            return self._gather(part, source)
        made = self._late(f"raw/{part}", (BATCH, *source.shape), source.dtype, Role.TARGET)
        self.fed.append(made)
        return made

    def _rows(self, index: Ref, predicted: Shape, part: str) -> Ref:
        """Class indices as rows: one-hot, or for one output the index itself as 0 or 1."""
        if predicted[-1] > 1:
            name = f"batch/{part}/one_hot"
            return self._emit(reduce.OneHot, name, x=index, depth=predicted[-1])
        value = self._cast(index, DType.float32, part)
        return self._emit(move.Reshape, f"batch/{part}/column", x=value, shape=(BATCH, *predicted))

    def _cast(self, x: Ref, dtype: DType, part: str) -> Ref:
        if self._builder.type_of(x).dtype is dtype:
            return x
        return self._emit(move.Cast, f"batch/{part}/{dtype.name}", x=x, dtype=dtype.name)

    def _gather(self, part: str, source: Source, target: Ref = ABSENT) -> Ref:
        array = self._late(f"{self._arrays}/{part}", (ROWS, *source.shape), source.dtype, Role.DATA)
        return self._emit(
            data.GatherBatch, f"batch/{part}", target,
            data=array, order=self.order(), step=self.step(),
        )  # fmt: skip

    def _constant(self, name: str, values: tuple[float, ...]) -> Ref:
        return self._late(name, (len(values),), DType.float32, Role.CONST, value=values)

    def _blank_order(self) -> Ref:
        """What an augmentation that draws nothing gets where samples have no order."""
        return self._once("infer/order", (1,), DType.int32, Role.CONST, value=(0.0,))

    def _blank_step(self) -> Ref:
        value = (0.0,) * data.STEP_WORDS
        return self._once("infer/step", (data.STEP_WORDS,), DType.int32, Role.CONST, value=value)

    def _emit(self, cls: type[Instruction], name: str, target: Ref = ABSENT, **fields: Any) -> Ref:
        """Append an instruction that writes ``target``, or a new tensor behind the model's."""
        draft = cls(**fields, y=target if target.present else Ref(0))
        inferred = draft.types(self._builder.type_of)[0]
        if target.present:
            if self._builder.type_of(target) != inferred:
                raise CompileError(
                    f"expected {self._builder.type_of(target)}, got {inferred} from {cls.mnemonic}",
                    who=OWNER,
                )
        else:
            target = self._late(name, inferred.shape, inferred.dtype, Role.ACTIVATION)
        self._builder.append("data", draft.replace(y=target))
        return target

    def _late(self, name: str, shape: Shape, dtype: DType, role: Role, **flags: Any) -> Ref:
        return self._builder.tensor(name, shape, dtype, role, late=True, **flags)

    def _once(self, name: str, shape: Shape, dtype: DType, role: Role, **flags: Any) -> Ref:
        if name not in self._made:
            self._made[name] = self._late(name, shape, dtype, role, **flags)
        return self._made[name]

    @staticmethod
    def _suffix(index: int, count: int) -> str:
        return f"/{index}" if count > 1 else ""
