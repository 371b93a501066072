"""Runs whole programs by the oracle: storages full of NaN, one instruction after another.

Gradients are taken from the forward reference by central differences, so that what they are
compared with cannot share a mistake with them; those that the manual states otherwise come from
`table.stated_gradient`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.plan_memory import MemoryPlan
from studio.engine.core.tensor import Ref, bind_shape
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import GradInstruction, Instruction
from studio.engine.isa.ops.norm import BatchNormBase
from studio.engine.isa.program import Program, Storage
from tests.engine.oracle.losses import batch_statistics
from tests.engine.oracle.table import differences, results, stated_gradient

Array = npt.NDArray[np.float64]
Values = dict[str, Any]


class Interpreter:
    """Runs a program for a batch length; persistent tensors keep their values between runs."""

    def __init__(self, program: Program, batch: int, plan: MemoryPlan | None = None) -> None:
        self.program = program
        self.batch = batch
        self.plan = plan
        self.cells: dict[Storage, Array] = {}
        self.arena = np.full((plan.total_bytes if plan else 0) // 4, np.nan)
        self.dropped: dict[Ref, Array] = {}

    def run(self, values: Mapping[str, npt.ArrayLike]) -> None:
        """Write the named tensors, then run every instruction once."""
        for name, value in values.items():
            self.set(self.program.tensors.named(name).ref, np.asarray(value, float))
        for tensor in self.program.tensors.values():
            if tensor.value is not None:
                self.set(tensor.ref, np.asarray(tensor.value).reshape(self.shape(tensor.ref)))
        for ins in self.program:
            self.step(ins)
            if ins.mnemonic == "END":
                self._forget_registers()

    def shape(self, ref: Ref) -> tuple[int, ...]:
        return bind_shape(self.program.tensors[ref.id].shape, self.batch, 4)

    def storage(self, ref: Ref) -> Array:
        key = self.program.storage(ref)
        if key not in self.cells:
            count = int(np.prod(self.shape(Ref(key.root))))
            slot = self.plan.slots.get(key) if self.plan else None
            if slot is None:
                self.cells[key] = np.full(count, np.nan)
            else:
                self.cells[key] = self.arena[slot.offset // 4 : slot.offset // 4 + count]
        return self.cells[key]

    def get(self, ref: Ref) -> Array:
        value = self.storage(ref).reshape(self.shape(ref)).copy()
        assert not np.isnan(value).any(), f"{ref} is read before it is written"
        return value

    def set(self, ref: Ref, value: npt.ArrayLike) -> None:
        array = np.asarray(value, float)
        assert array.shape == self.shape(ref), (ref, array.shape, self.shape(ref))
        self.storage(ref)[:] = array.ravel()

    def named(self, name: str, *, grad: bool = False) -> Array:
        return self.get(Ref(self.program.tensors.named(name).id, grad))

    def step(self, ins: Instruction) -> None:
        if isinstance(ins, GradInstruction):
            self._gradient(ins)
        elif ins.mnemonic not in ("FUSE", "END"):
            values = self._values(ins, self.get)
            found = results(ins.mnemonic, values, dict(ins.attrs))
            if isinstance(ins, BatchNormBase):
                self._keep_statistics(ins, values)
            for name, value in found.items():
                if ins.ref(name).present:
                    self.set(ins.ref(name), value)

    def _values(self, ins: Instruction, get: Callable[[Ref], Array]) -> Values:
        """The operands that are read, by name, and what surrounds the instruction."""
        found: Values = {"rows": self.batch}
        for spec in ins.operand_fields:
            refs = ins.refs(spec.name)
            if spec.access is Access.WRITE:
                if spec.name == "y":
                    found["y_shape"] = self.shape(ins.ref("y"))
            elif spec.variadic:
                found[spec.name] = [get(ref) for ref in refs]
            elif refs[0].present:
                found[spec.name] = get(refs[0])
        return found

    def _keep_statistics(self, ins: BatchNormBase, values: Values) -> None:
        """What a normalisation leaves for its gradient; given statistics must be those of x."""
        if ins.frozen:
            return
        mean, var = self._statistics(ins, values)
        if ins.stats.present:
            given = batch_statistics(values, channels=ins.mnemonic.endswith("2D"))
            np.testing.assert_allclose(given, (mean, var), rtol=1e-9, atol=1e-12)
        self.set(ins.mean.gradient, mean)
        self.set(ins.var.gradient, 1 / np.sqrt(var + ins.eps))

    def _statistics(self, ins: BatchNormBase, values: Values) -> tuple[Array, Array]:
        return batch_statistics({"x": values["x"]}, channels=ins.mnemonic.endswith("2D"))

    def _gradient(self, ins: GradInstruction) -> None:
        dy = self.get(ins.y.gradient)
        values = self._values(ins, lambda ref: self._operand(ins, ref))
        if issubclass(ins.forward, BatchNormBase):
            self._check_statistics(ins, values, dy)
            values.pop("stats", None)
        kind = ins.mnemonic.removeprefix("GRADS_")
        stated = stated_gradient(kind, values, dict(ins.attrs), dy)
        place: dict[str, int] = {}
        for name, ref in ins.targets():
            index = place[name] = place.get(name, -1) + 1
            found = (
                self._difference(ins, values, name, index, dy) if stated is None else stated[name]
            )
            held = 0.0 if ins.sets(name) else self.get(ref)
            self.set(ref, held + found)

    def _operand(self, ins: GradInstruction, ref: Ref) -> Array:
        """An operand's data. One the gradient may not read gets a stand-in, which does no harm
        where the rule is linear in it, or is recovered from the result.
        """
        readable = {self.program.storage(r) for r in ins.effects().reads}
        if self.program.storage(ref) in readable:
            return self.get(ref)
        recovered = self._recovered(ins, ref)
        return np.full(self.shape(ref), 0.5) if recovered is None else recovered

    def _recovered(self, ins: GradInstruction, ref: Ref) -> Array | None:
        """An input that stands for the one not kept, from a result that was."""
        if ref != getattr(ins, "x", None):
            return None
        if ins.mnemonic == "GRADS_TOPK":
            return _ordered_as(self.shape(ref), self.get(ins.i), ins.axis, ins.order)
        if not ins.saves or "y" not in ins.saves:
            return None
        y = self.get(ins.y)
        inverse = {
            "GRADS_RELU": lambda: np.where(y > 0, y, -1.0),
            "GRADS_SIGMOID": lambda: np.log(y / (1 - y)),
            "GRADS_TANH": lambda: np.arctanh(np.clip(y, -1 + 1e-15, 1 - 1e-15)),
            "GRADS_EXP": lambda: np.log(y),
            "GRADS_EXPM1": lambda: np.log1p(y),
            "GRADS_TAN": lambda: np.arctan(y),
            "GRADS_SQRT": lambda: y * y,
            "GRADS_RSQRT": lambda: 1 / (y * y),
            "GRADS_RECIPROCAL": lambda: 1 / y,
            "GRADS_SOFTMAX": lambda: np.log(y),
            "GRADS_SOFTMAX_LOG": lambda: y,
        }.get(ins.mnemonic)
        return None if inverse is None else inverse()

    def _difference(
        self, ins: GradInstruction, values: Values, name: str, index: int, dy: Array
    ) -> Array:
        """dy times the derivative of the forward reference in one operand."""
        kind = ins.mnemonic.removeprefix("GRADS_")
        attrs = {key: value for key, value in ins.attrs.items() if key not in ("set", "skip")}
        listed = isinstance(values[name], list)
        x = values[name][index] if listed else values[name]

        def rule(moved: Array) -> Array:
            given: Any = [*values[name]] if listed else moved
            if listed:
                given[index] = moved
            found: Array = results(kind, {**values, name: given}, attrs)["y"]
            return found

        key = (kind, name, index, str(attrs), dy.tobytes(), *_contents(values))
        if key not in _KNOWN:
            places = np.ndindex(*x.shape)
            _KNOWN[key] = np.reshape(differences(rule, x, dy, places), x.shape)
        return _KNOWN[key]

    def _check_statistics(self, ins: GradInstruction, values: Values, dy: Array) -> None:
        """The kept statistics must be those of this very x."""
        if ins.frozen:
            return
        mean, var = self._statistics(ins, values)
        kept = self.get(ins.mean.gradient)
        np.testing.assert_allclose(kept, mean, rtol=1e-9, atol=1e-12)
        wanted = 1 / np.sqrt(var + ins.eps)
        np.testing.assert_allclose(self.get(ins.var.gradient), wanted, rtol=1e-9)
        if ins.stats.present:
            products = results("COLUMN_PRODUCTS", {"dy": dy, "x": values["x"], "mean": mean}, {})
            np.testing.assert_allclose(self.get(ins.stats), products["y"], rtol=1e-9, atol=1e-12)

    def _forget_registers(self) -> None:
        for tensor in self.program.tensors.values():
            if tensor.register:
                self.cells.pop(Storage(tensor.id, False), None)


_KNOWN: dict[tuple[object, ...], Array] = {}
"""Differences taken before: the same program in several forms asks for the same ones."""


def _contents(values: Mapping[str, Any]) -> list[object]:
    """Everything in values, as what a dictionary can be looked up by."""
    found: list[object] = []
    for name, value in values.items():
        several = value if isinstance(value, list) else [value]
        found += [(name, np.shape(x), np.asarray(x).tobytes()) for x in several]
    return found


def _ordered_as(shape: tuple[int, ...], places: Array, axis: int, order: str) -> Array:
    """An array whose first along an axis, largest or smallest, stand in the given places."""
    found = np.zeros(shape)
    count = places.shape[axis]
    ranks = np.arange(count, 0, -1.0).reshape([-1 if d == axis else 1 for d in range(len(shape))])
    ranks = np.broadcast_to(ranks if order == "largest" else -ranks, places.shape)
    np.put_along_axis(found, places.astype(int), ranks, axis)
    return found
