"""What ``GLASSBOX_DEBUG`` tells: levels, steps, kernels, passes and sources; and that it changes
no number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.compiler.pipeline import pass_names
from studio.engine.core.errors import ParameterError
from studio.engine.isa.text import format_program
from studio.engine.train.devices import open_backend
from studio.engine.train.listing.debug_output import (
    VARIABLE,
    DebugLevel,
    debug_level,
    tell,
    told_steps,
)
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.network import Network
from tests.engine.train.small_tasks import equal_bytes, task

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS_OF_AN_EPOCH = 5
"""80 rows of the spirals for training, in batches of 16."""


@pytest.fixture
def at_level(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    monkeypatch.delenv(VARIABLE, raising=False)
    return lambda level: monkeypatch.setenv(VARIABLE, str(level))


def trained(backend: str = "cpu") -> dict[str, np.ndarray]:
    small = task(epochs=1, validation="none")
    with open_backend(backend) as device, Trainer(small, device.backend) as trainer:
        trainer.run()
        return trainer.read_weights()


@pytest.mark.parametrize(
    ("text", "level"), [("", 0), ("0", 0), ("1", 1), (" 3 ", 3), ("4", 4)]
)  # fmt: skip
def test_a_level_is_read(text: str, level: int) -> None:
    assert debug_level({VARIABLE: text}) == DebugLevel(level)
    assert debug_level({}) == DebugLevel.NOTHING


@pytest.mark.parametrize("text", ["5", "-1", "two", "1.0", "01", "¹"])
def test_another_value_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(ParameterError, match="expected 0 to 4") as caught:
        debug_level({VARIABLE: text})
    assert "2 also kernels" in caught.value.hint


def test_without_a_level_nothing_is_told_and_nothing_stands_in_between(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    trained()
    assert capsys.readouterr().err == ""
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        executable = device.backend.compile(network.program("infer"), network.session, 16)
        assert told_steps(executable, device.backend) is executable
        executable.close()


def test_steps_are_told_with_time_and_numbers(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    at_level(1)
    trained()
    lines = capsys.readouterr().err.splitlines()
    runs = [line for line in lines if re.fullmatch(r"mlp train in .*, run \d+: [\d.]+ ms", line)]
    numbers = [line for line in lines if re.match(r"train step \d+: loss [\d.]+  ", line)]
    assert len(runs) == len(numbers) == STEPS_OF_AN_EPOCH
    assert [int(line.split()[2][:-1]) for line in numbers] == list(range(len(numbers)))
    assert set(runs + numbers) == set(lines), "and nothing else"


def test_kernels_are_told_in_the_order_of_the_program(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    at_level(2)
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        network.initialise(0)
        rows = np.zeros((4, 2), np.float32)
        executable = network.executable("infer", 4)
        executable.feed(executable.program.inputs[0], rows)
        assert executable.run(2) == 2
    text = capsys.readouterr().err
    assert text.count("mlp infer in batches of 4, run") == 2
    table = text.split("run 1:")[1].splitlines()[1:]
    assert "wall clock" in table[0]
    assert table[1].split()[:4] == ["#", "section", "instruction", "layers"]
    indices = [int(line.split()[0]) for line in table[2:]]
    assert indices == sorted(indices)
    assert "numpy: softmax" in table[-1]


@pytest.mark.slow
@pytest.mark.parametrize("level", [1, 2, 4])
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_the_weights_have_the_same_bits_at_every_level(
    at_level: Callable[[int], None], level: int, backend: str
) -> None:
    plain = trained(backend)
    at_level(level)
    assert equal_bytes(plain, trained(backend))


def test_a_stop_is_heard_between_two_steps(at_level: Callable[[int], None]) -> None:
    at_level(1)
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        network.initialise(0)
        executable = network.executable("infer", 1)
        asked = iter([False, False, True])
        assert executable.run(9, lambda: next(asked)) == 2


def test_passes_are_told_with_the_listing_where_they_change_it(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    at_level(3)
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        last = format_program(network.program("train"))
    text = capsys.readouterr().err
    assert text.startswith("== lower: ")
    told = re.findall(r"^== (\w+): \d+ -> \d+ instructions", text, re.MULTILINE)
    assert set(told) >= set(pass_names()) - {"prune_gradients"}
    assert last in text
    unchanged = re.split(r"^== .*, nothing to do$", text, flags=re.MULTILINE)[1]
    assert unchanged.strip() == "" or unchanged.lstrip().startswith("== ")


def test_the_callers_observer_still_hears_every_pass(at_level: Callable[[int], None]) -> None:
    at_level(3)
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        assert next(name for name, _, _ in network.programs.passes("train")) == "fold_constants"


@pytest.mark.slow
@pytest.mark.gl
def test_final_shaders_are_told_once_for_each_program(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    at_level(4)
    with open_backend("gl") as device, Network(task(), device.backend) as network:
        network.initialise(0)
        executable = network.executable("infer", 4)
        sources = {call.source for call in executable.calls}
        text = capsys.readouterr().err
        assert device.backend.device in text
        network.executable("infer", 4)
        assert capsys.readouterr().err == ""
    assert all(source.rstrip("\n") in text for source in sources)
    assert text.count("#version 430") == len(sources) > 0


def test_on_a_cpu_the_functions_are_told(
    at_level: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    at_level(4)
    with open_backend("cpu") as device, Network(task(), device.backend) as network:
        network.initialise(0)
        network.executable("infer", 4)
    text = capsys.readouterr().err
    assert "mlp (infer) in batches of 4" in text
    assert "calls; a machine with fewer cores" in text


def test_a_process_without_standard_error_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    tell("unheard")
