"""Batch normalisation by the statistics of all workers' rows trains as one worker does."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.compiler.target import CPU, GL, Target
from studio.engine.core.errors import CompileError, ShapeError
from studio.engine.core.tensor import ABSENT, Ref, TensorType
from studio.engine.isa.binary import encode_program
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.norm import ColumnStats, ColumnSums
from studio.engine.isa.text import format_program, parse_program
from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.convolution import Conv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.masking import Masking
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.optim.optimizers import SGD, Adam
from studio.engine.runtime.exchange import Exchange, StatisticsBucket
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task
from tests.engine.scale.parallel.threads_exchange import together
from tests.engine.scale.parallel.trained import require_alike, require_close, train
from tests.engine.train.small_tasks import DIGITS, equal_bytes, task


def normalised(synchronized: bool = True, *, masked: bool = False) -> LayerGraph:
    """Two normalisations: of pictures, and of a row.

    What is before them has no bias: its gradient is only rounding, of which Adam makes steps.
    """
    options = {"momentum": 0.9, "synchronized": synchronized}
    graph = LayerGraph("normalised")
    x = graph.add(Input((8, 8, 1)))
    x = graph.add(Masking(0.0), x) if masked else graph.add(Conv2D(4, 3, use_bias=False), x)
    x = graph.add(Activation("relu"), graph.add(BatchNormalization(**options), x))
    x = graph.add(Dense(12, use_bias=False), graph.add(Flatten(), x))
    x = graph.add(BatchNormalization(**options), x)
    graph.outputs = (graph.add(Dense(10, "softmax"), x),)
    return graph


def digits(epochs: int = 3, graph: LayerGraph | None = None, **training: object) -> Task:
    """15 steps an epoch; the last has 37 rows, which four workers do not share evenly."""
    given = {"batch_size": 100, "optimizer": Adam(0.003), **training}
    return task(graph or normalised(), DIGITS, epochs=epochs, **given)


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epochs", [3, pytest.param(14, marks=pytest.mark.slow)])
def test_workers_train_as_one_does(workers: int, epochs: int) -> None:
    alone = train(digits(epochs))
    found = together(workers, lambda exchange: train(digits(epochs), exchange))
    require_alike(found)
    require_close(found[0], alone)


def test_a_worker_without_rows_adds_nothing() -> None:
    # The last batch of an epoch has one row, so that three of four workers have none.
    make = lambda: digits(2, batch_size=359)  # noqa: E731
    found = together(4, lambda exchange: train(make(), exchange))
    require_alike(found)
    require_close(found[0], train(make()))


def test_positions_that_a_mask_leaves_out_count_on_no_worker() -> None:
    make = lambda: digits(2, normalised(masked=True))  # noqa: E731
    found = together(3, lambda exchange: train(make(), exchange))
    require_alike(found)
    require_close(found[0], train(make()))


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_gradients_are_those_of_one_worker(workers: int) -> None:
    # One step of a rate of 1 takes the gradient from each weight; the batch is all 1437 samples.
    make = lambda: digits(1, batch_size=1437, optimizer=SGD(1.0))  # noqa: E731
    alone = train(make())
    found = together(workers, lambda exchange: train(make(), exchange))
    require_alike(found)
    require_close(found[0], alone, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_two_trainings_are_equal_to_the_bit() -> None:
    first, second = (together(4, lambda exchange: train(digits(1), exchange))[0] for _ in range(2))
    assert equal_bytes(first.weights, second.weights)
    assert first.result.history == second.result.history


def test_without_the_option_each_worker_uses_its_own_rows() -> None:
    make = lambda: digits(1, normalised(synchronized=False))  # noqa: E731
    alone = train(make())
    # Running statistics are brought together nevertheless: all workers have the same.
    found = together(4, lambda exchange: train(make(), exchange))
    require_alike(found)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        require_close(found[0], alone)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
def test_the_option_changes_nothing_for_one_worker(level: int, target: Target) -> None:
    with_it, without = (
        Programs(digits(graph=normalised(option)), 1).compile("train", level, target)
        for option in (True, False)
    )
    assert encode_program(with_it) == encode_program(without)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("target", [CPU, GL], ids=["cpu", "gl"])
def test_statistics_and_sums_of_gradients_are_exchanged(level: int, target: Target) -> None:
    program = Programs(digits(), 2).compile("train", level, target, verify=True)
    sums = [ins for ins in program if isinstance(ins, ColumnSums)]
    assert [ins.mnemonic for ins in sums] == ["COLUMN_STATS"] * 2 + ["COLUMN_PRODUCTS"] * 2
    for ins in sums:
        (exchanged,) = (
            line for line in program if isinstance(line, AllReduce) and ins.ref("y") in line.xs
        )
        source = ins.ref("x") if isinstance(ins, ColumnStats) else ABSENT
        assert exchanged.rows == source
    assert parse_program(format_program(program)) == program


def test_behind_a_mask_the_workers_must_be_synchronized() -> None:
    graph = normalised(synchronized=False, masked=True)
    with pytest.raises(CompileError, match="rows of a batch together") as caught:
        Programs(digits(graph=graph), 2).compile("train")
    assert caught.value.who == "batch_normalization"


def test_a_layer_that_is_used_twice_has_the_statistics_of_each_use() -> None:
    def twice() -> Task:
        graph = LayerGraph("twice")
        x = graph.add(Flatten(), graph.add(Input((8, 8, 1))))
        layer = BatchNormalization(synchronized=True)
        x = graph.add(Dense(6, use_bias=False), x)
        x = graph.add(layer, graph.add(Activation("tanh"), graph.add(layer, x)))
        graph.outputs = (graph.add(Dense(10, "softmax"), x),)
        return digits(1, graph)

    found = together(2, lambda exchange: train(twice(), exchange))
    require_alike(found)
    require_close(found[0], train(twice()))


def test_evaluation_uses_the_running_statistics_of_each_worker() -> None:
    program = Programs(digits(), 2).compile("evaluate")
    assert not any(isinstance(ins, AllReduce | ColumnSums) for ins in program)


def test_a_layer_that_is_not_trainable_exchanges_nothing() -> None:
    graph = normalised()
    for node in graph.nodes.values():
        node.layer.trainable = not isinstance(node.layer, BatchNormalization)
    program = Programs(digits(graph=graph), 2).compile("train")
    assert not any(isinstance(ins, ColumnSums) for ins in program)


def test_a_large_mean_does_not_swallow_the_variance() -> None:
    rng = np.random.default_rng(4)
    rows = (5 + rng.normal(size=(90, 6)) + 3000.0).astype(np.float32)
    wanted = rows.astype(np.float64)

    def joined(exchange: Exchange) -> np.ndarray:
        first, count = exchange.place(len(rows))
        own = wanted[first : first + count]
        bucket = StatisticsBucket(exchange, 6, count)
        found = np.stack([own.mean(0), ((own - own.mean(0)) ** 2).sum(0)])
        bucket.values[:] = found.astype(np.float32).reshape(-1)
        bucket.begin()
        bucket.finish()
        mean, squares = bucket.values.reshape(2, -1)
        return np.stack([mean, squares / count])

    # 90 rows are shared evenly by none of these.
    for size in (1, 4, 7):
        for mean, variance in together(size, joined):
            np.testing.assert_allclose(mean, wanted.mean(0), rtol=1e-6)
            np.testing.assert_allclose(variance, wanted.var(0), rtol=2e-3)


@pytest.mark.parametrize("shape", [(2, 5), (3, 4), (4,)])
def test_only_statistics_of_the_columns_of_the_rows_are_joined(shape: tuple[int, ...]) -> None:
    types = {0: TensorType(shape), 1: TensorType((-1, 3, 4))}
    with pytest.raises(ShapeError, match="expected the statistics of the columns"):
        AllReduce(xs=[Ref(0)], rows=Ref(1)).types(lambda ref: types[ref.id])
