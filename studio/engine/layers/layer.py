"""The base of all layers: declared options, shapes, parameters, and lowering to instructions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from studio.engine.core import renamed
from studio.engine.core.configured import Configured
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, quoted
from studio.engine.core.options import AnyOption, Plain
from studio.engine.core.tensor import UNKNOWN, Ref, Shape, TensorType
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.regularizers import Regularizer

if TYPE_CHECKING:
    from studio.engine.layers.context import LayerContext
    from studio.engine.layers.symbol import Symbol

RESERVED_NAMES = frozenset(
    {"data", "loss", "metrics", "update", "train", "eval", "infer", "backward", "forward"}
)
"""Names of housekeeping owners and tensor groups, which no layer may take."""

CATEGORIES = (
    "core",
    "convolution",
    "pooling",
    "shape",
    "normalization",
    "regularization",
    "activation",
    "merge",
    "sequence",
    "preprocessing",
    "operation",
)
"""What a layer may be for, in the order palettes and tables list layers."""

MOVED = (DType.float32, DType.int32, DType.uint8, DType.bool)
"""Element types of layers that move values and do not compute with them."""

_NAME = re.compile(r"\w[\w.\-]{0,63}\Z")


def check_name(name: object, what: str = "layer") -> str:
    """The name, if it can name a layer or node; ParameterError otherwise."""
    if not isinstance(name, str) or not _NAME.match(name) or name in RESERVED_NAMES:
        raise ParameterError(
            f"expected a name of 1 to 64 letters, digits, dots, dashes and underscores, got "
            f"{quoted(name)}",
            who=what,
            hint=f"reserved: {', '.join(sorted(RESERVED_NAMES))}",
        )
    return name


def shape_text(shape: Sequence[int | None]) -> str:
    """A shape without the batch, as ``[8,8,1]``; lengths that are not known as ``None``."""
    return "[" + ",".join("None" if d == UNKNOWN else str(d) for d in shape) + "]"


class PublicForm(NamedTuple):
    """How a parameter stands in files and in ``get_weights``, which is Keras' layout.

    Attributes:
        permutation: the order of the stored dimensions; empty where it is that.
        shape: the shape they are then given; None where it is theirs.
    """

    permutation: tuple[int, ...] = ()
    shape: Shape | None = None

    def shape_of(self, stored: Shape) -> Shape:
        """The public shape of a parameter stored with ``stored``."""
        return self.permuted(stored) if self.shape is None else self.shape

    def permuted(self, stored: Shape) -> Shape:
        """The shape between the two steps."""
        return tuple(stored[k] for k in self.permutation) if self.permutation else stored


AS_STORED = PublicForm()
TRANSPOSED = PublicForm((1, 0))


@dataclass(frozen=True)
class Parameter:
    """One tensor a layer owns.

    Attributes:
        role: its port and the second part of its name (``kernel``).
        shape: shape as stored.
        init: how it begins.
        state: saved but not optimised (running statistics).
        weight: a kernel or scale, in contrast to a shift.
        penalty: added to the loss while it is trained.
        public: how it stands in Keras' layout.
        output_axes: its axes, as stored, along which output channels lie; each has a scale of its
            own where the weights are stored small.
    """

    role: str
    shape: Shape
    init: Initializer
    state: bool = False
    weight: bool = False
    penalty: Regularizer | None = None
    public: PublicForm = AS_STORED
    output_axes: tuple[int, ...] = (-1,)

    def __post_init__(self) -> None:
        permutation, shape = self.public
        whole = not permutation or sorted(permutation) == list(range(len(self.shape)))
        if not whole or (shape is not None and prod(shape) != self.size):
            raise TypeError(f"{self.role}: {self.public} does not fit the shape {self.shape}")

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Layer(Configured, family="layer", package="studio.engine.layers"):
    """One layer with Keras' name, options, defaults and numerics (channels last).

    A subclass is named as in Keras. It declares its options as fields, and implements
    `output_shape`, `parameters` and `lower`; the class attributes below say the rest. Its file in
    this folder is found by itself. Shapes are without the batch dimension. A layer with several
    outputs, or one that changes the dtype, implements `output_types` instead of `output_shape`.

    Attributes:
        category: what it is for, one of ``CATEGORIES``; the palette groups by it.
        arity: fewest and most inputs, ``None`` for any number.
        dtypes: element types its inputs may have.
        supports_masking: whether a mask of its first input is also that of its output.
        variables: roles of parameters in Keras' order, where they are numbered in another; running
            statistics come behind all others in any case.
        transposed: the old form of `Parameter.public`: roles stored transposed to Keras' form.
        words: what users may type for it besides its name, the shortest first.
        followers: layers that usually come next, most usual first.
        follows: layers that it usually comes after, where those do not name it as a follower;
            the empty name stands for the beginning of a network.
        layer_options: options that hold the name of another layer; they follow when it is renamed.
        name: unique in a graph; empty until a graph names it.
        trainable: whether its parameters are optimised (and batch normalisation uses the batch).
    """

    category: ClassVar[str] = ""
    arity: ClassVar[tuple[int, int | None]] = (1, 1)
    dtypes: ClassVar[tuple[DType, ...]] = (DType.float32,)
    supports_masking: ClassVar[bool] = False
    variables: ClassVar[tuple[str, ...]] = ()
    transposed: ClassVar[frozenset[str]] = frozenset()
    words: ClassVar[tuple[str, ...]] = ()
    followers: ClassVar[tuple[str, ...]] = ()
    follows: ClassVar[tuple[str, ...]] = ()
    positional: ClassVar[tuple[str, ...] | None] = ()
    layer_options: ClassVar[tuple[str, ...]] = ()

    name: str
    trainable: bool

    def __init_subclass__(cls, **given: Any) -> None:
        if not given.get("abstract") and cls.category not in CATEGORIES:
            raise TypeError(
                f"{cls.__name__}.category: expected one of {', '.join(CATEGORIES)}, "
                f"got {cls.category!r}"
            )
        if "transposed" in vars(cls):
            renamed.warn("Layer.transposed")
        # A word names one layer, so a subclass has none of those of its base.
        cls.words = vars(cls).get("words", ())
        super().__init_subclass__(**given)

    def __init__(
        self, *args: object, name: str = "", trainable: bool = True, **given: object
    ) -> None:
        if not isinstance(trainable, bool):
            raise ParameterError(
                f"trainable: expected true or false, got {trainable!r}", who=type(self).__name__
            )
        self.name = check_name(name, type(self).__name__) if name else ""
        self.trainable = trainable
        super().__init__(*args, **given)

    @property
    def who(self) -> str:
        """The layer's name, or its class while it has none."""
        return self.name or type(self).__name__

    @classmethod
    def listed_at(cls) -> tuple[int, ...]:
        """By category, then by ``order``."""
        return (CATEGORIES.index(cls.category), cls.order)

    @classmethod
    def default_name(cls) -> str:
        """Snake-case form of the class name, such as ``global_average_pooling2d``."""
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", cls.__name__)
        return spaced.lower()

    def first_name(self) -> str:
        """What a graph names it after while it has no name."""
        return self.default_name()

    @property
    def inputs_taken(self) -> tuple[int, int | None]:
        """Fewest and most inputs, ``None`` for any number; `arity` unless options decide."""
        return self.arity

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of its inputs where they have some; the last begins with ``*`` for any number."""
        return ()

    @property
    def kind_text(self) -> str:
        """What kind of layer it is, in a few characters."""
        return type(self).__name__

    def about(self) -> str:
        """What it does, on one line."""
        return type(self).summary()

    def long_about(self) -> str:
        """All that is said of it, as Markdown."""
        return inspect.cleandoc(type(self).__doc__ or "")

    @classmethod
    def first_config(cls, given: Mapping[str, object]) -> dict[str, object]:
        """A configuration to begin with: ``given``, and a value for each option that needs one."""
        first = {option.name: option.first_value for option in cls.options if option.required}
        return {**first, **given}

    def form_values(self) -> tuple[tuple[AnyOption, Plain], ...]:
        """The options of a form, with their values as plain data."""
        values = self.option_values
        return tuple((option, option.plain(values[option.name])) for option in self.form_options())

    def form_option(self, name: str) -> AnyOption:
        """The option of a form of that name; ParameterError for another."""
        return self.option(name)

    def config_with(self, name: str, value: object) -> dict[str, Any]:
        """The configuration with one option of its form changed, not yet checked.

        ``None`` sets an option that is optional to none, any other back to what it begins with.
        """
        option, config = self.form_option(name), self.config()
        if value is None and not option.optional:
            config.pop(name, None)
            return {**config, name: option.first_value} if option.required else config
        return {**config, name: value}

    def keeps_masks(self, *types: TensorType) -> bool:
        """Whether masks of inputs of ``types`` go on; `supports_masking` unless options decide."""
        del types
        return self.supports_masking

    def config(self) -> dict[str, Plain]:
        """Name, ``trainable`` where false, and the options that are not default."""
        named: dict[str, Plain] = {"name": self.name} if self.name else {}
        if not self.trainable:
            named["trainable"] = False
        return {**named, **super().config()}

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> Self:
        """The layer that `config` describes; unknown options are refused by name."""
        given = dict(config)
        name, trainable = given.pop("name", ""), given.pop("trainable", True)
        if not isinstance(name, str) or not isinstance(trainable, bool):
            raise ParameterError("name is text and trainable true or false", who=cls.__name__)
        return cls(name=name, trainable=trainable, **given)

    def replace(self, **changes: object) -> Self:
        """An unnamed layer of the same kind with some options changed."""
        made = super().replace(**changes)
        made.trainable = self.trainable
        return made

    def __call__(self, inputs: Symbol | Sequence[Symbol]) -> Any:
        """The layer's output for another layer's output, or for several in a list.

        A `Symbol`; a list of them where the layer has several outputs, as in Keras.
        """
        several: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        if not several or not all(hasattr(each, "through") for each in several):
            raise ParameterError(
                f"expected the output of a layer, got {str(inputs)[:60]}",
                who=self.who,
                hint="start with Input(shape) and call each layer on the output of "
                "the previous one",
            )
        return several[0].through(self, several)

    def output_shape(self, *shapes: Shape) -> Shape:
        """Shape of the output for inputs of ``shapes``; ShapeError when they do not fit."""
        return shapes[0]

    def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
        """Types of the outputs, one for each, for inputs of ``types``.

        By default there is one output, of `output_shape`, with dtype and batch of the first input.

        Raises:
            ShapeError: the inputs do not fit.
        """
        shape = self.output_shape(*(given.sample for given in types))
        if not isinstance(shape, tuple):
            raise TypeError(f"expected a shape, got {quoted(shape)}")
        return (types[0].with_sample(shape) if types else TensorType.of_batch(shape),)

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """Types of the masks of the outputs; None, or nothing at the end, where there is none.

        By default the mask of the first input is that of the first output where the layer supports
        masking, and ends here where it does not.

        Args:
            types: of the inputs.
            masks: types of their masks, None for an input without one.

        Raises:
            ShapeError: the layer cannot work with these masks.
        """
        del types
        return tuple(masks[:1]) if self.supports_masking else ()

    def may_name(self, option: str, other: Layer, *shapes: Shape) -> bool:
        """Whether one of `layer_options` may hold the name of ``other``, a layer before this one.

        ``shapes`` are those of the inputs; none where they are not known.
        """
        del option, other, shapes
        return True

    def parameters(self, *shapes: Shape) -> tuple[Parameter, ...]:
        """The tensors the layer owns for inputs of ``shapes``, in the order they are numbered."""
        del shapes
        return ()

    def public_form(self, parameter: Parameter) -> PublicForm:
        """How one of the layer's parameters stands in Keras' layout."""
        if parameter.public == AS_STORED and parameter.role in self.transposed:
            return PublicForm(tuple(reversed(range(len(parameter.shape)))))
        return parameter.public

    def in_public_order(self, parameters: Iterable[Parameter]) -> list[Parameter]:
        """The parameters in Keras' order: by ``variables``, running statistics last."""
        places = {role: place for place, role in enumerate(self.variables)}
        return sorted(parameters, key=lambda p: (p.state, places.get(p.role, len(places))))

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref | tuple[Ref, ...]:
        """Emit the layer's instructions and return its output, or a tuple of its outputs.

        Inputs have been checked. Outputs have the types that `output_types` states.
        """
        raise TypeError(f"{type(self).__name__} defines no lowering")

    def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
        """Emit the masks of the outputs, as `mask_types` states them; called before `lower`.

        ``context.masks`` are those of the inputs; a mask that is absent reads as absent.
        """
        del inputs
        return context.masks[:1] if self.supports_masking else ()

    def ending(self, rank: int) -> str:
        """The activation applied last to an output of ``rank`` dimensions, ``linear`` for none.

        ``softmax`` means the last dimension.
        """
        del rank
        return str(self.option_values.get("activation", "linear"))

    def ends_in_softmax(self, rank: int) -> bool:
        """The old form of `ending`."""
        renamed.warn("Layer.ends_in_softmax")
        return self.ending(rank) == "softmax"

    def broken_rule(self, *shapes: Shape) -> str:
        """Which rule inputs break that `output_shape` refuses; repairs are chosen by it.

        One of ``rank``, ``window``, ``axis``, ``reshape``, ``merge`` and ``concat``.
        """
        del shapes
        return "rank"

    def check_inputs(self, *shapes: Shape) -> None:
        """ShapeError unless the number of inputs is one the layer takes."""
        low, high = self.inputs_taken
        if len(shapes) < low or (high is not None and len(shapes) > high):
            most = "" if high is None else f"{low} to {high}"
            wanted = str(low) if high == low else most or f"at least {low}"
            raise ShapeError(
                f"expected {wanted} input{'' if wanted == '1' else 's'}, got {len(shapes)}",
                who=self.who,
                hint="connect an output to each input, and no more",
            )

    def check_dtypes(self, *types: TensorType) -> None:
        """ShapeError unless the dtype of each input is one the layer takes."""
        for index, given in enumerate(types):
            if given.dtype not in self.dtypes:
                at = "" if len(types) == 1 else f" at input {index + 1}"
                raise ShapeError(
                    f"expected values of {' or '.join(d.name for d in self.dtypes)}{at}, got "
                    f"{given.dtype.name}",
                    who=self.who,
                    hint=_dtype_hint(given.dtype, self.dtypes),
                )

    def require_rank(self, shape: Shape, *names: str) -> None:
        """ShapeError unless ``shape`` has one dimension for each of ``names``."""
        if len(shape) != len(names):
            raise ShapeError(
                f"expected an input [{', '.join(names)}], got {shape_text(shape)}",
                who=self.who,
                hint=_rank_hint(shape, len(names)),
            )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _dtype_hint(given: DType, taken: tuple[DType, ...]) -> str:
    if DType.float32 in taken and given in (DType.int32, DType.uint8):
        return "put Rescaling(1.0) in front, which turns whole numbers into float32"
    return f"feed it {' or '.join(d.name for d in taken)}"


def _rank_hint(shape: Shape, wanted: int) -> str:
    if wanted == 3 and len(shape) == 2:
        return f"put Reshape(({shape[0]}, {shape[1]}, 1)) in front"
    if wanted == 3:
        return "put Reshape((height, width, channels)) in front"
    return "put Flatten() in front" if len(shape) > wanted else "put Reshape in front"
