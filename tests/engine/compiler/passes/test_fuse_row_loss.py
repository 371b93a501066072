"""Which losses join the dense layer before them, and what is left behind the group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from studio.engine.compiler.lifetimes import inner_gradients
from studio.engine.compiler.passes.fuse_row_loss import fuse_row_loss
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU, GL, GL_SOFTWARE, Target
from studio.engine.compiler.verify import breaches, verify
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.ops.activation import Relu, Tanh
from studio.engine.isa.ops.arithmetic import Add, Mul, Scale
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import Accuracy, LossCE, LossSparseCE
from studio.engine.isa.ops.softmax import Softmax
from studio.engine.isa.program import Program, Storage
from studio.engine.isa.text import format_program, parse_program
from studio.engine.isa.versions import program_version
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.networks import Net, logits
from tests.engine.compiler.passes.test_every_pass_keeps_results import (
    assert_same,
    results,
    start_values,
    with_updates,
)

FORWARD = ["LINEAR", "ROW_SPARSE_CE"]
WHOLE = [*FORWARD, "GRADS_LOSS_SPARSE_CE", "GRADS_LINEAR", "GRADS_RELU"]


class Classifier(Net):
    """Builds classifiers; every loss is taken on logits against class indices."""

    def classes(self, name: str, *positions: int) -> Ref:
        shape = (BATCH, *positions)
        ref = self.build.tensor(name, shape, DType.int32, Role.TARGET, late=True)
        self.inputs.append(ref)
        return ref

    def loss(self, p: Ref, name: str = "loss", **fields: object) -> Ref:
        t = self.classes(f"{name}/t", *self.build.type_of(p).shape[1:-1])
        return self.emit(name, LossSparseCE, "loss", p=p, t=t, **{"source": "logits", **fields})

    def hidden(self, *shape: int, units: int = 5) -> Ref:
        return self.emit("relu", Relu, x=self.dense("dense1", self.input(*shape), units))


def trained(program: Program, target: Target = GL, **options: object) -> Program:
    return compile_program(
        program, target, verify=True,
        emit_updates=lambda p: emit_updates(p, SGD(momentum=0.9)), **options,
    )  # fmt: skip


def groups(program: Program) -> list[list[str]]:
    """The parts of every group of kind row_loss."""
    found: list[list[str]] = []
    inside = False
    for ins in program:
        if ins.mnemonic == "FUSE":
            inside = ins.value("kind") == "row_loss"
            found += [[]] if inside else []
        elif ins.mnemonic == "END":
            inside = False
        elif inside:
            found[-1].append(ins.mnemonic)
    return found


def words(program: Program) -> list[str]:
    return [ins.mnemonic for ins in program]


def two_layers(mode: str = "train") -> Program:
    net = Classifier("two", mode)
    net.loss(net.dense("dense2", net.hidden(6), 4))
    return net.finish()


def test_the_loss_its_gradient_and_that_of_the_input_join_the_layer() -> None:
    made = trained(two_layers())
    assert groups(made) == [WHOLE]
    end = words(made).index("LOSS_MEAN")
    assert words(made)[end - 1] == "END"
    rest = list(made)[end + 1]
    assert [name for name, _ in rest.targets()] == ["w", "b"]
    seed = words(made).index("FILL")
    assert list(made)[seed + 1].mnemonic == "FUSE"
    sections = [section for section, _, ins in made.located() if ins.mnemonic in WHOLE]
    assert sections[1:6] == ["forward", "loss", "backward", "backward", "backward"]


def test_only_targets_whose_kernels_have_rows_fuse() -> None:
    for target in (CPU, GL_SOFTWARE):
        made = trained(two_layers(), target)
        assert groups(made) == []
        assert "LOSS_SPARSE_CE" in words(made)
    made = trained(two_layers(), disabled=["fuse_row_loss", "snapshot_step"])
    assert groups(made) == []
    assert program_version(made) == 1


def test_text_and_bytes_carry_the_group() -> None:
    made = trained(two_layers())
    assert program_version(made) == 2
    assert parse_program(format_program(made)) == made
    assert decode_program(encode_program(made), 2) == made


def test_a_program_without_gradients_has_the_losses_alone() -> None:
    net = Classifier("evaluate", "evaluate")
    p = net.dense("dense2", net.hidden(6), 4)
    value = net.loss(p)
    made = compile_program(net.finish(p, value), GL, verify=True)
    assert groups(made) == [FORWARD]
    assert words(made)[-2:] == ["END", "LOSS_MEAN"]


def test_a_layer_that_does_not_learn_leaves_no_gradient_behind() -> None:
    net = Classifier("frozen")
    net.loss(net.dense("dense2", net.hidden(6), 4, trainable=False))
    made = trained(net.finish())
    assert groups(made) == [WHOLE]
    assert words(made).count("GRADS_LINEAR") == 2
    dp = next(ins.ref("p") for ins in made if ins.mnemonic == "GRADS_LOSS_SPARSE_CE")
    assert made.storage(dp.gradient) not in inner_gradients(made)


def test_a_first_layer_has_no_gradient_of_its_input() -> None:
    net = Classifier("single")
    net.loss(net.dense("dense", net.input(6), 4))
    made = trained(net.finish())
    assert groups(made) == [WHOLE[:3]]
    assert words(made).count("GRADS_LINEAR") == 1


def test_a_gradient_used_up_in_the_group_takes_no_room_unless_it_is_viewed() -> None:
    made = trained(two_layers())
    x = next(ins.ref("x") for ins in made if ins.mnemonic == "GRADS_LINEAR")
    assert made.storage(x.gradient) in inner_gradients(made)
    kept = trained(two_layers(), keep=[x.id])
    assert groups(kept) == [WHOLE[:4]]
    assert Storage(x.id, True) not in inner_gradients(kept)


@pytest.mark.parametrize("source", ["probs", "softmax"])
def test_probabilities_stay_apart(source: str) -> None:
    net = Classifier("probabilities")
    p = net.emit("softmax", Softmax, x=net.dense("dense2", net.hidden(6), 4), step=4)
    net.loss(p, source=source)
    assert groups(trained(net.finish())) == []


@pytest.mark.parametrize(("inputs", "outputs", "joins"), [
    (GL.row_inputs, GL.row_outputs, True),
    (GL.row_inputs + 1, GL.row_outputs, False),
    (GL.row_inputs, GL.row_outputs + 1, False),
])  # fmt: skip
def test_long_rows_stay_apart(inputs: int, outputs: int, joins: bool) -> None:
    net = Classifier("wide")
    net.loss(net.dense("dense", net.input(inputs), outputs))
    assert bool(groups(trained(net.finish()))) == joins


def test_a_function_between_layer_and_loss_keeps_them_apart() -> None:
    net = Classifier("between")
    net.loss(net.emit("tanh", Tanh, x=net.dense("dense2", net.hidden(6), 4)))
    assert groups(trained(net.finish())) == []


def test_targets_made_behind_the_layer_keep_the_loss_apart() -> None:
    net = Classifier("late")
    hidden = net.hidden(6, units=4)
    p = net.dense("dense2", hidden, 4)
    t = net.emit("soft", Softmax, x=p, step=4)
    net.emit("loss", LossCE, "loss", p=p, t=t, source="logits")
    net.build.append("metrics", Accuracy(p=p, t=t, y=net.build.tensor("hits", ())).replace(
        owners=("metrics",)))  # fmt: skip
    assert groups(fuse_row_loss(net.finish(), GL)) == []


def test_a_line_between_that_needs_what_moves_keeps_the_gradient_apart() -> None:
    made = trained(two_layers(), disabled=["fuse_row_loss"])
    loss = next(ins for ins in made if ins.mnemonic == "LOSS_SPARSE_CE")
    clears = next(k for k, ins in enumerate(made) if ins is loss)
    other = Scale(x=loss.ref("y").gradient, y=Ref(made.next_id()), alpha=1.0, owners=("loss",))
    lines = [(section, ins) for section, _, ins in made.located()]
    # Reads the storage that the seed fills, from a step before.
    lines.insert(clears, ("loss", other))
    tensor = made.tensor(loss.ref("y")).replace(id=made.next_id(), name="other")
    late = made.with_lines(lines).with_tensors(made.tensors.update([tensor]))
    assert groups(fuse_row_loss(late, GL)) == [FORWARD]


def twice(mode: str = "train") -> Program:
    """One layer of logits applied to two inputs."""
    net = Classifier("shared", mode)
    w, b = net.param("w", 4, 5), net.param("b", 4)
    first, second = (
        net.emit(f"relu{k}", Relu, x=net.dense(f"dense{k}", net.input(6, name=f"in{k}"), 5))
        for k in range(2)
    )
    ends = [net.emit("out", Linear, w=w, b=b, x=x) for x in (first, second)]
    net.emit("loss", Add, "loss", x1=net.loss(ends[0], "one"), x2=net.loss(ends[1], "two"))
    return net.finish()


def tied() -> Program:
    """Logits whose weights another layer uses as well."""
    net = Classifier("tied")
    w = net.param("w", 4, 4)
    hidden = net.emit("relu", Relu, x=net.emit("first", Linear, w=w, x=net.input(4)))
    net.loss(net.emit("second", Linear, w=w, x=hidden))
    return net.finish()


def weighted() -> Program:
    """Positions, each entry with a weight; accuracy reads the logits."""
    net = Classifier("weighted")
    p = net.dense("dense2", net.hidden(3, 6), 4)
    weights = net.build.tensor("weights", (BATCH,), role=Role.INPUT, late=True)
    net.inputs.append(weights)
    net.loss(p, weights=weights)
    net.emit("accuracy", Accuracy, "metrics", p=p, t=Ref(net.inputs[-1].id), kind="sparse")
    return net.finish(p)


def forked() -> Program:
    """Logits that a second path uses, too, and a hidden layer of two readers."""
    net = Classifier("forked")
    hidden = net.hidden(6)
    p = net.dense("dense2", hidden, 4)
    q = net.dense("dense3", net.emit("mul", Mul, a=hidden, b=hidden), 4)
    first = net.loss(p, "one")
    second = net.loss(net.emit("sum", Add, x1=p, x2=q), "two")
    net.emit("loss", Add, "loss", x1=first, x2=second)
    return net.finish(p, q)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (logits, [["LINEAR", "ROW_CE", "GRADS_LOSS_CE", "GRADS_LINEAR", "GRADS_TANH"]]),
        (twice, [FORWARD, FORWARD]),
        (tied, [WHOLE]),
        (weighted, [WHOLE]),
        (forked, [FORWARD]),
    ],
)
def test_results_stay_what_they_were(
    make: Callable[[], Program], expected: list[list[str]], rng: np.random.Generator
) -> None:
    program = make()
    values = start_values(program, rng)
    for tensor in (program.tensors[i] for i in program.inputs):
        if tensor.dtype is DType.int32:
            values[tensor.name] = rng.integers(0, 4, values[tensor.name].shape)
    made = compile_program(program, GL, emit_updates=with_updates, verify=True)
    assert groups(made) == expected
    plain = compile_program(program, GL, 0, emit_updates=with_updates)
    wanted = results(plain, values)
    assert_same(results(made, values), wanted)
    assert_same(results(made, values, planned=True), wanted)


def planted(old: str, **changes: object) -> list[str]:
    """The rules broken where one line of a sound group is changed."""
    made = trained(two_layers())
    start = words(made).index("LOSS_MEAN")
    at = max(k for k in range(start) if words(made)[k] == old)
    lines = [(section, ins) for section, _, ins in made.located()]
    lines[at] = (lines[at][0], lines[at][1].replace(**changes))
    return [breach.rule for breach in breaches(made.with_lines(lines))]


def test_rules_of_the_group() -> None:
    verify(trained(two_layers()))
    assert "the losses of the layer's rows follow it" in planted("ROW_SPARSE_CE", source="probs")
    assert "the gradient of that loss follows, set" in planted("GRADS_LOSS_SPARSE_CE", set=())
    assert "the gradient of the layer's input follows, set" in planted("GRADS_LINEAR", skip=())
    made = trained(two_layers())
    lines = [(section, ins) for section, _, ins in made.located()]
    begin = next(k for k, (_, ins) in enumerate(lines) if ins.mnemonic == "ROW_SPARSE_CE") - 2
    swapped = [*lines[: begin + 1], lines[begin + 2], lines[begin + 1], *lines[begin + 3 :]]
    rules = [breach.rule for breach in breaches(made.with_lines(swapped))]
    assert "a group of kind row_loss begins with LINEAR" in rules


def test_a_narrower_target_decides_otherwise() -> None:
    narrow = replace(GL, row_outputs=3)
    assert groups(trained(two_layers(), narrow)) == []
