"""An independent interpreter in float64: storages full of NaN, one instruction after another.

Gradient instructions are not given formulas: the derivative of the forward rule is taken by central
differences, so what they are compared with cannot share a mistake with them. The two that do not
differentiate their forward rule by definition (SOFTMAX_CE and cross-entropy behind it) are written
out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.plan_memory import MemoryPlan
from studio.engine.core.tensor import Ref, bind_shape
from studio.engine.isa.instruction import Instruction, Twin
from studio.engine.isa.ops.norm import BatchNormBase
from studio.engine.isa.program import Program, Storage
from tests.engine.compiler import forward_rules as rules
from tests.engine.compiler.update_rules import update

Array = npt.NDArray[np.float64]
STEP = 1e-5


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

    def maybe(self, ref: Ref) -> Array | None:
        return self.get(ref) if ref.present else None

    def set(self, ref: Ref, value: npt.ArrayLike) -> None:
        array = np.asarray(value, float)
        assert array.shape == self.shape(ref), (ref, array.shape, self.shape(ref))
        self.storage(ref)[:] = array.ravel()

    def named(self, name: str, *, grad: bool = False) -> Array:
        return self.get(Ref(self.program.tensors.named(name).id, grad))

    def step(self, ins: Instruction) -> None:
        if isinstance(ins, Twin):
            self._gradient(ins)
        elif isinstance(ins, BatchNormBase):
            self._batch_norm(ins)
        elif ins.mnemonic in ("ZERO", "FILL"):
            number = 0.0 if ins.mnemonic == "ZERO" else ins.number
            self.set(ins.y, np.full(self.shape(ins.y), number))
        elif ins.category == "update":
            update(self, ins)
        elif ins.mnemonic == "ACCURACY":
            t = self.get(ins.t)
            hits = self.get(ins.p).argmax(-1) == (t if ins.kind == "sparse" else t.argmax(-1))
            self.set(ins.y, hits.mean())
        elif ins.mnemonic == "RECORD":
            ring = self.get(ins.ring)
            ring[int(self.get(ins.step)[4]) % len(ring)] = [float(self.get(v)) for v in ins.values]
            self.set(ins.ring, ring)
        elif ins.mnemonic not in ("FUSE", "END"):
            operands = {r: self.get(r) for spec, r in reading(ins) if r.present}
            self.set(ins.y, self.forward(ins, operands))

    def forward(self, ins: Instruction, operands: Mapping[Ref, Array]) -> Array:
        """The result of a forward instruction (or of a twin's) on these operands."""
        kind = ins.mnemonic.removeprefix("GRADS_")
        at = operands.__getitem__
        if kind in rules.UNARY:
            return rules.UNARY[kind](ins, at(ins.x))
        if kind in rules.BINARY:
            return rules.BINARY[kind](at(ins.a), at(ins.b))
        if kind == "ADD":
            return ins.alpha * at(ins.x1) + ins.beta * at(ins.x2)
        if kind == "SELECT":
            return np.where(at(ins.c) != 0, at(ins.a), at(ins.b))
        if kind == "LINEAR":
            y = at(ins.x) @ at(ins.w).T
            return y + at(ins.b) if ins.b.present else y
        if kind == "MATMUL":
            a = at(ins.a).swapaxes(-1, -2) if ins.ta else at(ins.a)
            b = at(ins.b).swapaxes(-1, -2) if ins.tb else at(ins.b)
            return a @ b
        if kind in ("CONV2D", "DEPTHWISE_CONV2D"):
            bias = at(ins.b) if ins.b.present else None
            return rules.convolution(ins, at(ins.w), bias, at(ins.x))
        if kind in ("MAXPOOL2D", "AVGPOOL2D"):
            return rules.pool(ins, at(ins.x))
        if kind == "GLOBAL_AVGPOOL2D":
            return at(ins.x).mean(axis=(1, 2))
        if kind in ("SOFTMAX", "SOFTMAX_CE"):
            return rules.softmax(at(ins.x), ins.step)
        if kind == "SOFTMAX_LOG":
            return rules.log_softmax(at(ins.x), ins.step)
        if kind in ("CONCAT", "CONCAT_CHANNEL"):
            axis = ins.axis if kind == "CONCAT" else -1
            return np.concatenate([at(x) for x in ins.xs], axis=axis)
        if kind == "LOSS_L1L2":
            return ins.l1 * np.abs(at(ins.w)).sum() + ins.l2 * (at(ins.w) ** 2).sum()
        if kind == "COLUMN_STATS":
            return rules.column_stats(at(ins.x))
        if kind == "COLUMN_PRODUCTS":
            return rules.column_products(at(ins.dy), at(ins.x), at(ins.mean))
        if kind == "LOSS_MEAN":
            return np.asarray(at(ins.x).mean())
        if kind.startswith(("LOSS_", "ROW_")):
            weights = at(ins.weights) if ins.weights.present else None
            return rules.loss(ins, at(ins.p), at(ins.t), weights)
        if kind.startswith("REDUCE_"):
            return rules.reduce(ins, at(ins.x))
        if kind == "DROPOUT":
            return at(ins.x) * self._mask(ins)
        if kind == "ARGMAX":
            return at(ins.x).argmax(-1).astype(float)
        if kind == "ONE_HOT":
            return rules.one_hot(at(ins.x), ins.depth)
        return rules.moved(ins, at(ins.x), self.shape(ins.y))

    def _mask(self, ins: Instruction) -> Array:
        drawn = np.random.default_rng(ins.stream).random(self.shape(ins.x))
        return (drawn >= ins.rate) / (1 - ins.rate)

    def _batch_norm(self, ins: Instruction) -> None:
        mean, var = self.get(ins.mean), self.get(ins.var)
        y, used, spread = rules.batch_norm(
            ins, self.get(ins.x), self.maybe(ins.gamma), self.maybe(ins.beta), mean, var
        )
        self.set(ins.y, y)
        if ins.stats.present:
            wanted = rules.column_stats(self.get(ins.x))
            np.testing.assert_allclose(self.get(ins.stats), wanted, rtol=1e-9, atol=1e-12)
        if not ins.frozen:
            self.set(ins.mean, (1 - ins.factor) * mean + ins.factor * used)
            self.set(ins.var, (1 - ins.factor) * var + ins.factor * spread)
            self.set(ins.mean.gradient, used)
            self.set(ins.var.gradient, 1 / np.sqrt(spread + ins.eps))

    def _gradient(self, ins: Twin) -> None:
        dy = self.get(ins.y.gradient)
        if issubclass(ins.forward, BatchNormBase):
            found = self._batch_norm_gradient(ins, dy)
        else:
            found = self._differences(ins, dy)
        for (name, ref), gradient in zip(ins.targets(), found, strict=True):
            held = 0.0 if ins.sets(name) else self.get(ref)
            self.set(ref, held + gradient)

    def _differences(self, ins: Twin, dy: Array) -> list[Array]:
        """dy times the derivative of the forward rule, operand by operand."""
        if ins.mnemonic == "GRADS_SOFTMAX_CE":
            return [dy]
        operands = {r: self._operand(ins, r) for _, r in reading(ins) if r.present}
        if ins.mnemonic in ("GRADS_LOSS_CE", "GRADS_LOSS_SPARSE_CE") and ins.source == "softmax":
            return [self._behind_softmax(ins, operands) * dy]
        gradients = []
        for spec in ins.operand_fields:
            if not any(name == spec.name for name, _ in ins.targets()):
                continue
            for position, ref in enumerate(ins.refs(spec.name)):
                gradients.append(self._one_difference(ins, operands, spec.name, position, ref, dy))
        return gradients

    def _operand(self, ins: Twin, ref: Ref) -> Array:
        """An operand's data. One the gradient may not read gets a stand-in, which does no harm
        where the rule is linear in it, or is recovered from the result.
        """
        readable = {self.program.storage(r) for r in ins.effects().reads}
        if self.program.storage(ref) in readable:
            return self.get(ref)
        recovered = self._recovered(ins, ref)
        return np.full(self.shape(ref), 0.5) if recovered is None else recovered

    def _recovered(self, ins: Twin, ref: Ref) -> Array | None:
        """An input that stands for the one not kept, from a result that was."""
        if not ins.saves or "y" not in ins.saves or ref != getattr(ins, "x", None):
            return None
        y = self.get(ins.y)
        inverse = {
            "GRADS_RELU": lambda: np.where(y > 0, y, -1.0),
            "GRADS_SIGMOID": lambda: np.log(y / (1 - y)),
            "GRADS_TANH": lambda: np.arctanh(np.clip(y, -1 + 1e-15, 1 - 1e-15)),
            "GRADS_EXP": lambda: np.log(y),
            "GRADS_SQRT": lambda: y * y,
            "GRADS_RSQRT": lambda: 1 / (y * y),
            "GRADS_RECIPROCAL": lambda: 1 / y,
            "GRADS_SOFTMAX": lambda: np.log(y),
            "GRADS_SOFTMAX_LOG": lambda: y,
        }.get(ins.mnemonic)
        return None if inverse is None else inverse()

    def _one_difference(
        self,
        ins: Twin,
        operands: Mapping[Ref, Array],
        name: str,
        position: int,
        ref: Ref,
        dy: Array,
    ) -> Array:
        # A tensor may stand in two operands, so the one looked at gets a name of its own.
        own = Ref(1 << 20)
        refs = list(ins.refs(name))
        refs[position] = own
        alone = ins.replace(**{name: tuple(refs) if ins_is_list(ins, name) else own})
        key = (ins.mnemonic, name, position, _settings(ins), _contents(ins, operands))
        return differences(
            lambda moved: self._forward_alone(alone, {**operands, own: moved}, ref),
            operands[ref],
            dy,
            key,
        )

    def _forward_alone(self, ins: Twin, operands: Mapping[Ref, Array], ref: Ref) -> Array:
        if ins.mnemonic == "GRADS_DROPOUT":
            return operands[ins.x] * self._mask(ins.replace(x=ref))
        return self.forward(ins, operands)

    def _behind_softmax(self, ins: Twin, operands: Mapping[Ref, Array]) -> Array:
        p, t = operands[ins.p], operands[ins.t]
        wanted = rules.one_hot(t, p.shape[-1]) if "SPARSE" in ins.mnemonic else t
        gradient = p * wanted.sum(axis=-1, keepdims=True) - wanted
        if ins.weights.present:
            gradient = gradient * operands[ins.weights].reshape(-1, *[1] * (p.ndim - 1))
        return gradient if ins.dylann_sum else gradient / p.shape[0]

    def _batch_norm_gradient(self, ins: Twin, dy: Array) -> list[Array]:
        """Central differences of the rule; the kept statistics must be those of this very x."""
        values = {
            "x": self.get(ins.x),
            "gamma": self.maybe(ins.gamma),
            # beta is not among what the gradient may read; the derivative does not depend on it.
            "beta": np.zeros(self.shape(ins.beta)) if ins.beta.present else None,
        }
        if ins.frozen:
            mean, var = self.get(ins.mean), self.get(ins.var)
        else:
            mean, var = self.get(ins.mean.gradient), self.get(ins.var.gradient)
            _, used, spread = rules.batch_norm(ins, values["x"], None, None, mean, var)
            np.testing.assert_allclose(mean, used, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(var, 1 / np.sqrt(spread + ins.eps), rtol=1e-9)
        if ins.stats.present:
            products = rules.column_products(dy, self.get(ins.x), mean)
            np.testing.assert_allclose(self.get(ins.stats), products, rtol=1e-9, atol=1e-12)
        arrays = tuple(b"" if v is None else v.tobytes() for v in (*values.values(), mean, var))

        def rule(name: str) -> Callable[[Array], Array]:
            return lambda moved: rules.batch_norm(
                ins, **{**values, name: moved}, mean=mean, var=var
            )[0]

        return [
            differences(rule(name), values[name], dy, (ins.mnemonic, name, _settings(ins), arrays))
            for name, _ in ins.targets()
        ]

    def _forget_registers(self) -> None:
        for tensor in self.program.tensors.values():
            if tensor.register:
                self.cells.pop(Storage(tensor.id, False), None)


_KNOWN: dict[tuple[object, ...], Array] = {}
"""Differences taken before: the same program in several forms asks for the same ones."""


def differences(
    rule: Callable[[Array], Array], value: Array, dy: Array, key: tuple[object, ...]
) -> Array:
    """dy times the derivative of ``rule`` at ``value`` by central differences."""
    key = (*key, dy.tobytes())
    if key not in _KNOWN:
        gradient = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            sides = []
            for sign in (1, -1):
                moved = value.copy()
                moved[index] += sign * STEP
                sides.append(rule(moved))
            gradient[index] = ((sides[0] - sides[1]) / (2 * STEP) * dy).sum()
        _KNOWN[key] = gradient
    return _KNOWN[key]


def _settings(ins: Twin) -> tuple[object, ...]:
    return tuple(item for item in ins.attrs.items() if item[0] not in ("set", "skip"))


def _contents(ins: Twin, operands: Mapping[Ref, Array]) -> tuple[bytes, ...]:
    shapes = [str(operands[r].shape).encode() for _, r in reading(ins) if r.present]
    return (*shapes, *(operands[r].tobytes() for _, r in reading(ins) if r.present))


def reading(ins: Instruction) -> list[tuple[object, Ref]]:
    """Operands that are not results."""
    return [(s, r) for s, r in ins.named_operands() if s.access.value != "writes"]


def ins_is_list(ins: Instruction, name: str) -> bool:
    """Whether the operand of that name is a list."""
    return next(f.variadic for f in ins.operand_fields if f.name == name)
