"""Each known bug of the system this instruction set descends from, and the test that it is absent.

`COVERED` is the list; the tests below fill what no other file says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Adam, Dense, Input, Sequential
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction, all_instructions
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.ops.activation import Relu, Sigmoid, Tanh
from studio.engine.isa.ops.arithmetic import Add, Scale
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.train.loop.trainer import Trainer
from tests.engine.conformance.case import Case, Given, exactly, step_block
from tests.engine.conformance.cases.draws import ORDER
from tests.engine.conformance.harness import results
from tests.engine.train import naive_training as naive
from tests.engine.train.small_tasks import mlp, task

HERE = "engine/test_seed_bugs.py"
GRADIENTS = "engine/test_seed_bugs_autodiff.py"
LINES = "engine/isa/test_line.py"
ENCODERS = f"{LINES}::test_dylanns_encoder_bugs_are_absent"
MODES = "engine/compiler/test_lower_modes.py"
RUNS = "engine/compiler/test_lower_runs.py"
TRAINER = "engine/train/loop/test_trainer.py"

COVERED: dict[str, tuple[str, ...]] = {
    "ADD encodes its first operand twice": (
        ENCODERS,
        f"{GRADIENTS}::test_both_operands_of_a_sum_get_their_own_gradient",
    ),
    "batch-norm encoders omit the blend pair that decoders read": (
        ENCODERS,
        f"{LINES}::test_binary_round_trip_is_exact",
    ),
    "sizes of SOFTMAX omit step": (ENCODERS, f"{LINES}::test_binary_round_trip_is_exact"),
    "the size of SCALE's gradient is one id short": (ENCODERS,),
    "a convolution with explicit blend pushes x, w, b in the wrong slots": (
        f"{HERE}::test_a_convolution_keeps_its_operands_in_their_slots",
        "engine/conformance/test_results.py::test_results_equal_the_reference",
    ),
    "add() and scale() return their input": (
        f"{HERE}::test_what_an_emitted_instruction_returns_is_what_it_writes",
    ),
    "the gradient of the clipped ReLU is never found": (
        f"{GRADIENTS}::test_every_gradient_is_found_by_its_forward_instruction",
        "engine/conformance/test_edges.py::test_a_derivative_at_its_kink",
    ),
    "gradients replace what is in their target": (
        f"{GRADIENTS}::test_every_gradient_adds_unless_told_to_set",
        f"{GRADIENTS}::test_a_tensor_with_two_consumers_gets_the_sum_of_both",
    ),
    "dropout ignores the train flag": (
        f"{GRADIENTS}::test_inference_programs_hold_neither_dropout_nor_statistics_that_move",
        f"{MODES}::test_inference_takes_raw_input_and_has_no_dropout",
        f"{HERE}::test_validation_measures_without_dropout",
    ),
    "CONCAT loops over the wrong counter": (
        f"{GRADIENTS}::test_a_concatenation_reaches_every_part",
    ),
    "Adam counts a step per parameter": (
        f"{GRADIENTS}::test_one_step_counts_one_update_however_many_parameters",
        "engine/optim/test_optimizer_vectors.py::test_dylann_adam_as_intended",
    ),
    "Adam corrects the stored moments in place": (
        f"{GRADIENTS}::test_stored_moments_are_plain_moving_averages",
    ),
    "Adam ignores L2": (f"{HERE}::test_adam_feels_a_weight_penalty",),
    "zeroGrad of RMSProp and Adam wipes the optimiser's state": (
        f"{GRADIENTS}::test_only_gradients_are_ever_cleared",
        f"{GRADIENTS}::test_statistics_and_slots_go_on_from_step_to_step",
    ),
    "resetGrad zeroes running statistics and the input batch": (
        f"{GRADIENTS}::test_only_gradients_are_ever_cleared",
        f"{GRADIENTS}::test_statistics_and_slots_go_on_from_step_to_step",
    ),
    "validation runs with the train flag on": (
        f"{HERE}::test_validation_measures_without_dropout",
        f"{MODES}::test_batch_normalisation_is_frozen_outside_training_and_when_not_trainable",
        f"{RUNS}::test_evaluation_reads_trained_parameters_and_takes_no_class_weights",
    ),
    "sigmoid and tanh depend on a ReLU": (
        f"{GRADIENTS}::test_activations_work_without_a_relu_in_the_program",
    ),
    "pools add to what is in their result": (
        f"{GRADIENTS}::test_pooling_writes_over_what_was_there",
    ),
    "parameter counts are inconsistent": (
        f"{HERE}::test_a_line_holds_one_word_for_each_declared_field",
    ),
    "SOFTMAX_CE prints without a space before step": (
        ENCODERS,
        f"{LINES}::test_text_round_trip_is_exact",
    ),
    "random flips are seeded from the clock on every call": (
        f"{HERE}::test_flips_follow_the_seed_the_epoch_and_the_sample_alone",
        f"{TRAINER}::test_the_same_seed_gives_the_same_bytes_and_another_does_not",
    ),
}


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend()
    yield made
    made.close()


@pytest.mark.parametrize("bug", COVERED)
def test_every_bug_names_tests_that_exist(bug: str) -> None:
    for place in COVERED[bug]:
        path, _, name = place.partition("::")
        tree = ast.parse((Path(__file__).parents[1] / path).read_text(encoding="utf-8"))
        assert name in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, place


def test_a_convolution_keeps_its_operands_in_their_slots() -> None:
    made = parse_line("CONV2D 0xa 0xb 0x9 0xc 1 1 1 1 1 1")
    assert made == Conv2D(w=10, b=11, x=9, y=12, pad_h=1, pad_w=1)
    assert {f.name: ref.id for f, ref in made.named_operands()} == {
        "w": 10,
        "b": 11,
        "x": 9,
        "y": 12,
    }
    assert [t.id for _, t in type(made).grad_class(w=10, b=11, x=9, y=12).targets()] == [10, 11, 9]


@pytest.mark.parametrize(("cls", "names"), [(Add, ("x1", "x2")), (Scale, ("x",)), (Relu, ("x",))])
def test_what_an_emitted_instruction_returns_is_what_it_writes(
    cls: type[Instruction], names: tuple[str, ...]
) -> None:
    build = ProgramBuilder("one", "infer")
    given = {name: build.tensor(name, (4,), role=Role.INPUT) for name in names}
    (found,) = build.emit("forward", cls, **given)
    assert found not in given.values()
    assert build.peek(found).role is Role.ACTIVATION


def test_a_line_holds_one_word_for_each_declared_field() -> None:
    for cls in (Relu, Sigmoid, Tanh):
        assert format_line(cls(x=1, y=2)).split()[1:] == ["0x1", "0x2"]
    assert format_line(Add(x1=1, x2=2, y=3)).split()[1:] == ["0x1", "0x2", "0x3", "1", "1"]
    for cls in all_instructions():
        if any(f.variadic for f in cls.operand_fields):
            continue
        operands = {f.name: Ref(i + 1) for i, f in enumerate(cls.operand_fields)}
        ids = re.findall(r"\b0x([0-9a-f]+)", format_line(cls(**operands)))
        assert sorted(int(i, 16) for i in ids) == [r.id for r in operands.values()], cls.mnemonic


def test_validation_measures_without_dropout(backend: CpuBackend) -> None:
    made = task(mlp(rate=0.9), epochs=2, validation="tail", validation_fraction=0.25)
    with Trainer(made, backend) as trainer:
        result = trainer.run()
        weights = {k: v.astype(np.float64) for k, v in trainer.read_weights().items()}
    assert made.validation is not None
    x = naive.normalised(made, made.validation.inputs[0])
    y = made.validation.targets[0].reshape(-1).astype(int)
    _, shares = naive.forward(weights, x)
    wanted = -np.log(shares[np.arange(len(y)), y]).mean()
    assert result.history["val_loss"][-1] == pytest.approx(wanted, rel=1e-4)


def test_adam_feels_a_weight_penalty() -> None:
    x = np.zeros((8, 3), np.float32)
    y = np.zeros((8, 2), np.float32)
    for penalty, moves in (("", False), ("l2(0.1)", True)):
        layer = Dense(2, kernel_regularizer=penalty or None, use_bias=False)
        with Sequential([Input((3,)), layer], backend="cpu") as model:
            model.compile(Adam(0.01), "mse")
            before = model.get_weights()[0]
            model.fit(x, y, batch_size=8, epochs=1)
            after = model.get_weights()[0]
        # Zeros in, zeros wanted: only the penalty pulls, and Adam's first step is the rate.
        wanted = before - 0.01 * np.sign(before) if moves else before
        np.testing.assert_allclose(after, wanted, atol=1e-5)


def test_flips_follow_the_seed_the_epoch_and_the_sample_alone(backend: CpuBackend) -> None:
    picture = np.arange(12.0).reshape(1, 3, 4, 1)
    x = Given((7, 3, 4, 1), exactly(*np.repeat(picture, 7, axis=0).ravel()))

    def flipped(order: Given = ORDER, **block: int) -> np.ndarray:
        operands = {"x": x, "order": order, "step": step_block(cursor=0, **block)}
        attrs = {"horizontal": True, "vertical": True, "stream": 77}
        return results(backend, Case("AUGMENT_FLIP", "again", operands, attrs))["y"]

    first = flipped(epoch=2)
    np.testing.assert_array_equal(flipped(epoch=2, step=9, updates=11), first)
    assert any((flipped(epoch=e) != first).any() for e in (3, 4, 5))
    # The same samples in another order keep their flips.
    order = [3, 1, 6, 0, 2, 5, 4]
    turned = flipped(replace(ORDER, make=exactly(*order[::-1])), epoch=2)
    np.testing.assert_array_equal(turned, first[::-1])
