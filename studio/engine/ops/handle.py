"""Tensors as people type them: immutable numbers on a device, with Python's operators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError, StudioError
from studio.engine.core.tensor import Shape, shape_text
from studio.engine.ops.call_trace import Trace
from studio.engine.ops.patterns import TYPES, Pattern
from studio.engine.ops.recording import STATE, compute, ended, flush, forget, remember
from studio.engine.ops.values import Value, value_of_float, value_of_int
from studio.engine.runtime.transfers import Array

_SHOWN = 1000
_new = object.__new__


class Tensor:
    """Numbers of one type in up to six dimensions; they never change.

    A tensor that was just typed has no numbers yet: it is computed with its neighbours when
    somebody reads one of them. Operators broadcast as NumPy's do. A Python number takes the type of
    its neighbour: an int beside float32 stays float32, a float beside int32 gives float32.
    """

    __slots__ = ("__weakref__", "_kind", "_place", "_trace", "_value")
    __array_priority__ = 100
    __array_ufunc__ = None
    trainable: ClassVar[bool] = False

    _kind: int
    _place: int
    _trace: Trace | None
    _value: Value | None

    @property
    def shape(self) -> Shape:
        """Lengths of its dimensions."""
        return TYPES[self._kind].shape

    @property
    def dtype(self) -> str:
        """Element type by its name."""
        return TYPES[self._kind].dtype.name

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(TYPES[self._kind].shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return TYPES[self._kind].numel

    def numpy(self) -> Array:
        """Its numbers, in an array of your own; waits until they are there.

        Raises:
            StudioError: it was disposed of, or recorded on another thread and never read there.
        """
        return self.data().result()

    def data(self) -> Future[Array]:
        """Its numbers in a future: the device works on while you do something else."""
        return self._computed().read()

    def item(self) -> float | int | bool:
        """The only number of a tensor of one element.

        Raises:
            ShapeError: it has more or fewer.
        """
        if self.size != 1:
            raise ShapeError(f"item() takes one element: got {shape_text(self.shape)}", who="item")
        found: float | int | bool = self.numpy().reshape(()).item()
        return found

    def dispose(self) -> None:
        """Give its memory back now; nothing can read it afterwards."""
        self._trace = self._value = None
        forget(self)

    def _computed(self) -> Value:
        trace = self._trace
        if self._value is None and trace is not None and trace is STATE.trace:
            if trace.tape:
                compute(trace)
            else:
                flush()
        if self._value is None:
            STATE.trace.leaf(self)
            raise RuntimeError("a tensor was not computed")
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of no dimensions has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if TYPES[self._kind].dtype is DType.float32:
            raise TypeError("a tensor of fractions is no index")
        return int(self.item())

    __hash__ = object.__hash__

    if TYPE_CHECKING:

        def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...

    def __getitem__(self, place: Any) -> Tensor:
        from studio.engine.ops.indexing import taken

        return taken(self, place)

    def __repr__(self) -> str:
        kind = TYPES[self._kind]
        if self._value is None and self._trace is None:
            return f"<tensor {kind}, disposed>"
        if self._trace is not None and self._trace is not STATE.trace:
            return f"<tensor {kind}, recorded on another thread>"
        text = np.array2string(self.numpy(), threshold=_SHOWN, separator=", ", prefix="tensor(")
        return f"tensor({text}, {kind})"

    def _repr_html_(self) -> str:
        from studio.engine.ops.listings import tensor_html

        return tensor_html(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else _method(name)
        if found is None:
            raise AttributeError(f"a tensor has no {name!r}")
        return MethodType(found, self)

    def __dir__(self) -> list[str]:
        from studio.engine.ops.table_functions import FUNCTIONS

        return sorted({*object.__dir__(self), *FUNCTIONS})


def _method(name: str) -> Callable[..., Any] | None:
    from studio.engine.ops.table_functions import FUNCTIONS

    return FUNCTIONS.get(name)


def shown(trace: Trace, place: int, kind: int) -> Tensor:
    """A tensor for a result of a trace."""
    made: Tensor = _new(Tensor)
    made._trace, made._place, made._kind, made._value = trace, place, kind, None
    return made


def of_value(value: Value, cls: type[Tensor] = Tensor) -> Tensor:
    """A tensor for numbers that are there."""
    made: Tensor = _new(cls)
    made._trace, made._place, made._kind, made._value = None, 0, value.kind, value
    remember(made)
    if STATE.scopes and cls is Tensor:
        STATE.scopes[-1].made.append(ref(made))
    return made


class Variable(Tensor):
    """A tensor that can be given new numbers, such as a weight.

    ``assign`` puts other numbers in its place. What was typed before keeps the old ones.

    Attributes:
        name: what `variable_grads` and `save` call it.
        trainable: whether `variable_grads` looks at it.
    """

    __slots__ = ("name", "trainable")
    name: str
    trainable: bool  # type: ignore[misc]

    def assign(self, given: Any) -> Variable:
        """Give it other numbers of the same type; returns itself.

        Raises:
            ShapeError: shape or element type differ.
            StudioError: inside a gradient, where values must stay.
        """
        from studio.engine.ops.calls import value_of

        if STATE.trace.tape:
            raise StudioError(
                "a variable cannot be assigned to inside a gradient", who=self.name,
                hint="assign behind it",
            )  # fmt: skip
        kind = TYPES[self._kind]
        if not isinstance(given, Tensor):
            given = of_value(value_of(given, self.name, kind.dtype))
        if given._kind != self._kind:
            raise ShapeError(f"expected {kind}: got {TYPES[given._kind]}", who=self.name)
        trace = STATE.trace
        if given._trace is trace:
            trace.also.append((given._place, ref(self)))
            self._trace, self._place, self._value = trace, given._place, None
            forget(self)
        else:
            trace.leaf(given)
            self._trace, self._value = None, given._value
            remember(self)
        return self

    def __repr__(self) -> str:
        return f"variable {self.name!r}: {super().__repr__()}"


def _operator(name: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    """An operator with two operands; recording one is kept as short as it can be."""
    found = _OPERATORS.get((name, swapped))
    if found is not None:
        return found
    # By the types of the operands; of a number its Python type stands beside that of the tensor.
    cache: dict[tuple[Any, Any], Pattern] = {}
    get_frame, tensor_class, state = sys._getframe, Tensor, STATE

    def method(self: Tensor, other: Any) -> Any:
        cls = type(other)
        trace = state.trace
        if cls is tensor_class or cls is Variable:
            pattern = cache.get((self._kind, other._kind))
            if pattern is None or swapped:
                return general(self, other)
            left = self._place if self._trace is trace else trace.leaf(self)
            right = other._place if other._trace is trace else trace.leaf(other)
        else:
            pattern = cache.get((self._kind, cls))
            value = None if pattern is None else _number(self, other)
            if pattern is None or value is None:
                return general(self, other)
            if swapped:
                left = trace.new_place(value)
                right = self._place if self._trace is trace else trace.leaf(self)
            else:
                left = self._place if self._trace is trace else trace.leaf(self)
                right = trace.new_place(value)
        frame = get_frame(1)
        handles = trace.handles
        made = _new(tensor_class)
        made._trace, made._value, made._kind = trace, None, pattern.kinds[0]
        made._place = len(handles)
        handles.append(ref(made))
        patterns = trace.patterns
        patterns.append(pattern)
        trace.operands += (left, right)
        trace.sources.append((frame.f_code, frame.f_lasti))
        if len(patterns) >= trace.limit:
            ended(trace)
        return made

    def general(self: Tensor, other: Any) -> Any:
        from studio.engine.ops.calls import call, found_name, pattern_for

        if other is None or isinstance(other, str):
            return NotImplemented
        operation = found_name(name)
        if operation is None:
            return NotImplemented
        given = _beside(self, other)
        made = call(operation, (given, self) if swapped else (self, given), {})
        if isinstance(given, Tensor):
            cache[self._kind, given._kind] = pattern_for(operation, (self._kind, given._kind), {})
        elif (value := _number(self, other)) is not None:
            kinds = (value.kind, self._kind) if swapped else (self._kind, value.kind)
            cache[self._kind, type(other)] = pattern_for(operation, kinds, {})
        return made

    _OPERATORS[name, swapped] = method
    return method


_OPERATORS: dict[tuple[str, bool], Callable[[Tensor, Any], Any]] = {}


def _beside(tensor: Tensor, other: Any) -> Any:
    """A Python number in the type of its neighbour, which may hold it."""
    if type(other) is int and TYPES[tensor._kind].dtype is DType.float32:
        return float(other)
    return other


def _number(tensor: Tensor, other: Any) -> Value | None:
    """A Python number in the type it takes beside a tensor; None for anything else."""
    if type(other) is float:
        return value_of_float(other)
    if type(other) is not int:
        return None
    if TYPES[tensor._kind].dtype is DType.float32:
        return value_of_float(float(other))
    return value_of_int(other)


def _single(name: str) -> Callable[[Tensor], Any]:
    def method(self: Tensor) -> Any:
        from studio.engine.ops.calls import call, named

        return call(named(name), (self,), {})

    return method


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "matmul": "matmul", "mod": "mod", "floordiv": "floor_divide",
    "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
}  # fmt: skip
_COMPARED = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "eq": "equal", "ne": "not_equal",
}  # fmt: skip
for _sign, _name in _BINARY.items():
    setattr(Tensor, f"__{_sign}__", _operator(_name))
    setattr(Tensor, f"__r{_sign}__", _operator(_name, swapped=True))
for _sign, _name in _COMPARED.items():
    setattr(Tensor, f"__{_sign}__", _operator(_name))
for _sign, _name in {"neg": "negative", "abs": "absolute", "invert": "logical_not"}.items():
    setattr(Tensor, f"__{_sign}__", _single(_name))
