"""Gradients of what a function computes, in reverse over the lines it recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import GradientError, ShapeError
from studio.engine.core.tensor import shape_text
from studio.engine.ops import patterns
from studio.engine.ops.call_trace import Custom, Trace
from studio.engine.ops.calls import call, named, value_of
from studio.engine.ops.handle import Tensor, Variable, of_value, shown
from studio.engine.ops.patterns import TYPES, special_pattern
from studio.engine.ops.recording import STATE, add, flush

_ENDLESS = 1 << 60

Loss = Callable[..., Any]
Rule = Callable[[Tensor], Any]


def grad(function: Loss) -> Callable[..., Tensor]:
    """The function that gives df/dx where ``function`` computes f(x).

    A result of several numbers is summed up first, as if each had the gradient 1.

    Args:
        function: takes one tensor and returns one.

    Returns:
        A function of x, and of ``dy``, the gradient of the result, where it is not 1.
    """

    @wraps(function)
    def gradient(x: Any, dy: Any = None) -> Tensor:
        _, found = _recorded(function, (x,), dy)
        return found[0]

    return gradient


def grads(function: Loss) -> Callable[..., tuple[Tensor, ...]]:
    """As `grad` for a function of several tensors: a gradient for each."""

    @wraps(function)
    def gradients(*xs: Any, dy: Any = None) -> tuple[Tensor, ...]:
        return _recorded(function, xs, dy)[1]

    return gradients


def value_and_grad(function: Loss) -> Callable[..., tuple[Tensor, Tensor]]:
    """As `grad`, with the value of the function in front."""

    @wraps(function)
    def both(x: Any, dy: Any = None) -> tuple[Tensor, Tensor]:
        value, found = _recorded(function, (x,), dy)
        return value, found[0]

    return both


def value_and_grads(function: Loss) -> Callable[..., tuple[Tensor, tuple[Tensor, ...]]]:
    """As `grads`, with the value of the function in front."""

    @wraps(function)
    def both(*xs: Any, dy: Any = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        return _recorded(function, xs, dy)

    return both


def variable_grads(
    function: Callable[[], Any], variables: Sequence[Variable] | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """The value of a function and its gradients with respect to variables, by their names.

    Args:
        function: takes nothing and returns one tensor.
        variables: which; all trainable ones that the function reads, where none are named.

    Raises:
        GradientError: the function reads no trainable variable, or two have one name.
    """
    with _tape() as trace:
        value = _one(function())
        chosen: list[Any] = list(trace.variables.values()) if variables is None else [*variables]
        names = [variable.name for variable in chosen]
        if not chosen:
            raise GradientError("the function reads no trainable variable", who="variable_grads")
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise GradientError(f"two variables are called {twice!r}", who="variable_grads")
        places = [_place(trace, variable) for variable in chosen]
        found = _gradients(trace, value, places, None)
    return value, dict(zip(names, found, strict=True))


def custom_grad(function: Callable[..., tuple[Tensor, Rule]]) -> Callable[..., Tensor]:
    """A function whose gradient you state yourself.

    Args:
        function: takes tensors and returns its value and a function that takes the gradient of the
            value and returns the gradient of each tensor, alone or as a tuple.

    Returns:
        A function of the same tensors that returns the value.

    Raises:
        GradientError: the gradients are not as many, or not of the shapes, of the tensors.
    """

    @wraps(function)
    def value(*given: Any) -> Tensor:
        trace = STATE.trace
        xs = tuple(x if isinstance(x, Tensor) else _constant(x) for x in given)
        if not trace.tape:
            return _pair(function(*xs))[0]
        inputs = tuple(_place(trace, x) for x in xs)
        custom = Custom(len(trace.patterns), inputs)
        # A line of its own: the result may be an operand, or be computed before.
        made, rule = _pair(function(*xs))
        made = _copied(made)
        custom.last, custom.result = len(trace.patterns), made._place
        seed = add(special_pattern("seed", (made._kind,), 0), [], shown)[0]
        found = rule(seed)
        parts = found if isinstance(found, list | tuple) else (found,)
        _check_parts(parts, xs)
        custom.made = tuple(_place(trace, part) for part in parts)
        custom.rule, custom.seed = (custom.last, len(trace.patterns)), seed._place
        trace.customs.append(custom)
        return made

    return value


def _copied(x: Any) -> Tensor:
    made: Tensor = call(named("copy"), (x,), {})
    return made


def _pair(found: Any) -> tuple[Tensor, Rule]:
    if (
        not isinstance(found, tuple) or len(found) != 2
        or not isinstance(found[0], Tensor) or not callable(found[1])
    ):  # fmt: skip
        raise GradientError(
            "the function must return its value and a function of the gradient", who="custom_grad"
        )
    return found[0], found[1]


def _check_parts(parts: Sequence[Any], xs: Sequence[Tensor]) -> None:
    if len(parts) != len(xs):
        raise GradientError(f"expected {len(xs)} gradients, got {len(parts)}", who="custom_grad")
    for number, (part, x) in enumerate(zip(parts, xs, strict=True)):
        if not isinstance(part, Tensor) or part._kind != x._kind:
            got = TYPES[part._kind] if isinstance(part, Tensor) else type(part).__name__
            raise GradientError(
                f"gradient {number} must be {TYPES[x._kind]}: got {got}", who="custom_grad"
            )


def _constant(given: Any) -> Tensor:
    return of_value(value_of(given, "grad"))


def _place(trace: Trace, tensor: Tensor) -> int:
    return tensor._place if tensor._trace is trace else trace.leaf(tensor)


@contextmanager
def _tape() -> Iterator[Trace]:
    """Record calls without forgetting any; a failed one leaves nothing behind."""
    if STATE.trace.tape:
        raise GradientError(
            "second-order gradients are not computed: a gradient was asked for inside of another",
            who="grad",
            hint="write the inner gradient as operations, with custom_grad where it helps",
        )
    flush()
    trace = STATE.trace
    trace.tape, limit = True, trace.limit
    if not STATE.checks:
        trace.limit = _ENDLESS
    try:
        yield trace
    except BaseException:
        # What the function recorded goes with it: its tensors are as if they were disposed of.
        _abandon(trace)
        raise
    trace.tape, trace.limit = False, limit
    trace.variables.clear()


def _abandon(trace: Trace) -> None:
    from studio.engine.ops.recording import new_trace

    STATE.trace = new_trace()
    for handle in trace.handles:
        tensor = handle()
        if tensor is not None and tensor._trace is trace and tensor._value is None:
            tensor.dispose()
        elif tensor is not None and tensor._trace is trace:
            tensor._trace = None
    for scope in STATE.scopes:
        scope.made += trace.handles[scope.start :]
        scope.start = 0


def _recorded(function: Loss, given: Sequence[Any], dy: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The value of a function and its gradients."""
    if not given:
        raise GradientError("a function of no tensors has no gradient", who="grad")
    with _tape() as trace:
        xs = [_alone(trace, x) for x in given]
        for x in xs:
            _require_float(x)
        value = _one(function(*xs))
        found = _gradients(trace, value, [x._place for x in xs], dy)
    return value, found


def _alone(trace: Trace, given: Any) -> Tensor:
    """A tensor as an operand of its own, whatever else reads it inside the function or beside."""
    tensor = given if isinstance(given, Tensor) else _constant(given)
    trace.leaf(tensor)
    value = tensor._computed()
    trace.alone.append(len(trace.leaves))
    made = shown(trace, trace.new_place(value), value.kind)
    made._value = value
    return made


def _one(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise GradientError(
            f"the function must return one tensor: got {type(value).__name__}", who="grad"
        )
    _require_float(value)
    return value


def _require_float(tensor: Tensor) -> None:
    kind = TYPES[tensor._kind]
    if kind.dtype is not DType.float32:
        raise GradientError(f"only float32 has gradients: got {kind}", who="grad")


def _gradients(trace: Trace, value: Tensor, places: Sequence[int], dy: Any) -> tuple[Tensor, ...]:
    """Record that gradients are wanted; what follows may use them."""
    loss = value
    if dy is not None:
        dy = dy if isinstance(dy, Tensor) else _constant(dy)
        if dy.shape != value.shape:
            raise ShapeError(
                f"dy must have the shape of the value, {shape_text(value.shape)}: "
                f"got {shape_text(dy.shape)}",
                who="grad",
            )
        loss = call(named("multiply"), (value, dy), {})
    loss = call(named("sum"), (loss,), {}) if loss.shape else _copied(loss)
    kinds = tuple(trace.kind_at(place) for place in places)
    trace.gradient = len(trace.patterns)
    operands = [_place(trace, loss), *places]
    return add(patterns.special_pattern("gradient", kinds, len(operands)), operands, shown)
