"""Rules about the tensor map: views, halos, registers, partial results, constants, ports."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from studio.engine.compiler.rules.breach import Breach
from studio.engine.core.tensor import Role, Shape, Tensor, shape_text
from studio.engine.isa.program import Program


def check_tensor_map(program: Program) -> Iterator[Breach]:
    """Breaches of the tensor map, first those that make others meaningless."""
    ids = set(program.tensors)
    for tensor in program.tensors.values():
        if tensor.view_of is not None and tensor.view_of not in ids:
            yield Breach("a view's base exists", f"{tensor.name} is a view of {tensor.view_of:#x}")
        elif _is_circular(program, tensor):
            yield Breach("views end at a storage", f"{tensor.name} is a view of itself")
    for kind, ports in (("input", program.inputs), ("output", program.outputs)):
        for port in ports:
            if port not in ids:
                yield Breach(f"{kind}s are tensors", f"{port:#x} is not in the map")


def check_tensors(program: Program) -> Iterator[Breach]:
    """Breaches of single tensors, in a map whose references are sound."""
    viewed = {program.tensors.root(t.id) for t in program.tensors.values() if t.view_of is not None}
    for tensor in program.tensors.values():
        yield from _check_view(program, tensor, viewed)
        yield from _check_pad(tensor)
        if tensor.partial:
            yield from _check_partial(program, tensor, viewed)
        if tensor.register and (
            tensor.role.persistent or tensor.id in (*program.inputs, *program.outputs)
        ):
            yield Breach(
                "a register tensor is nothing that is kept, fed or fetched",
                f"{tensor.name} of role {tensor.role.value}",
            )
        if tensor.value is not None and len(tensor.value) != prod(tensor.shape):
            yield Breach(
                "a constant has a value for every element",
                f"{tensor.name} {shape_text(tensor.shape)} has {len(tensor.value)}",
            )


def _check_view(program: Program, tensor: Tensor, viewed: set[int]) -> Iterator[Breach]:
    in_class = tensor.view_of is not None or tensor.id in viewed
    if in_class and (tensor.pad or tensor.register):
        kind = "padded" if tensor.pad else "a register"
        yield Breach("tensors of a view class are dense and stored", f"{tensor.name} is {kind}")
    if tensor.view_of is None:
        return
    base = program.tensors[tensor.view_of]
    if _count(tensor.shape) != _count(base.shape) or tensor.dtype is not base.dtype:
        yield Breach(
            "a view has the elements of its base",
            f"{tensor.name} {tensor.type} of {base.name} {base.type}",
        )


def _check_pad(tensor: Tensor) -> Iterator[Breach]:
    if not tensor.pad:
        return
    if len(tensor.pad) != len(tensor.shape) or any(min(pair) < 0 for pair in tensor.pad):
        yield Breach("a halo has two counts for every dimension", f"{tensor.name} has {tensor.pad}")
    elif tensor.shape[0] < 0 and tensor.pad[0] != (0, 0):
        yield Breach("the batch dimension has no halo", f"{tensor.name} has {tensor.pad}")


def _check_partial(program: Program, tensor: Tensor, viewed: set[int]) -> Iterator[Breach]:
    """Only who writes it knows how many parts it has, so nothing else may hold or show it."""
    faults = {
        "in a view class": tensor.view_of is not None or tensor.id in viewed,
        "padded": bool(tensor.pad),
        "a register": tensor.register,
        f"of role {tensor.role.value}": tensor.role is not Role.ACTIVATION,
        "an input": tensor.id in program.inputs,
        "an output": tensor.id in program.outputs,
    }
    rule = "a partial tensor is a dense activation of its own"
    yield from (Breach(rule, f"{tensor.name} is {name}") for name, holds in faults.items() if holds)


def _is_circular(program: Program, tensor: Tensor) -> bool:
    seen = {tensor.id}
    parent = tensor.view_of
    while parent is not None and parent in program.tensors:
        if parent in seen:
            return True
        seen.add(parent)
        parent = program.tensors[parent].view_of
    return False


def _count(shape: Shape) -> tuple[int, int]:
    """The symbol in front, 0 for none, and the product of the numbers."""
    symbol = shape[0] if shape and shape[0] < 0 else 0
    return symbol, prod(shape[1:] if symbol else shape)
