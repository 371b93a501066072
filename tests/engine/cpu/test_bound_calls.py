"""What a listing says a line calls on a CPU is what the line calls when it runs."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.ours import network_of, ready_to_train
from benchmarks.workloads import WORKLOADS
from studio.engine.compiler.target import CPU
from studio.engine.cpu import compiled
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.elementwise import formulas, loops
from studio.engine.cpu.machine import threads
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.threads import MOST_THREADS
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.cpu.run.bound_calls import bound_calls
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import Network
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.samples import sample_names, sample_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from studio.engine.cpu.memory.views import Run


class Heard:
    """Hears which loops are called, and among how many threads parts are dealt out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loops: set[str] = set()
        self.parts = 1
        for found in iter_modules(compiled.__path__):
            module = import_module(f"{compiled.__name__}.{found.name}")
            for name, value in list(vars(module).items()):
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(module, name, _Loop(value, self.loops))
        printed = loops.compiled_loop
        monkeypatch.setattr(
            formulas,
            "compiled_loop",
            lambda *given, **named: _Loop(printed(*given, **named), self.loops),
        )
        own = threads.shared_pool()
        monkeypatch.setattr(threads, "shared_pool", lambda: _ThreadPool(own, self))

    def forget(self) -> None:
        self.loops.clear()
        self.parts = 1


class _Loop:
    def __init__(self, loop: Any, heard: set[str]) -> None:
        self.py_func = loop.py_func
        self._loop = loop
        self._heard = heard

    def __call__(self, *arguments: object) -> object:
        module = self.py_func.__module__.rpartition(".")[2]
        self._heard.add(f"{module}.{self.py_func.__name__}")
        return self._loop(*arguments)


class _ThreadPool:
    def __init__(self, own: threads.ThreadPool, heard: Heard) -> None:
        self._own = own
        self._heard = heard

    def run(self, parts: Sequence[Run]) -> None:
        self._heard.parts = max(self._heard.parts, len(parts))
        self._own.run(parts)


def check_lines(
    network: Network, mode: str, batch: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of a step calls the loops that are listed for it, and no other."""
    if not has_compiler():
        pytest.skip("there is no Numba here")
    first = network.executable(mode, batch)
    program = first.program
    # Loops are compiled at their first call, and then find each other as they are.
    first.run()
    listed = bound_calls(program, CPU, batch, rows)
    with monkeypatch.context() as patched:
        heard = Heard(patched)
        executable = network.backend.compile(program, network.session, batch)
        assert isinstance(executable, CpuExecutable)
        assert executable.calls == listed
        for number, entry in enumerate(executable.entries):
            heard.forget()
            executable.run_to(number + 1)
            calls = listed.runs[entry.index]
            assert calls, f"line {entry.index}: {entry.mnemonic} calls nothing"
            loops = {call.name for call in calls if call.variant == "compiled"}
            assert heard.loops == loops, f"line {entry.index}: {entry.mnemonic}"
            assert heard.parts == max(call.threads for call in calls), f"line {entry.index}"
        executable.close()


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    """A CPU of as many cores as a listing has."""
    made = CpuBackend(config=ExecutionConfig(MOST_THREADS, compiled=has_compiler()))
    yield made
    made.close()


@pytest.mark.parametrize("name", sample_names())
@pytest.mark.parametrize("mode", ["train", "evaluate", "infer"])
def test_lines_of_a_sample_call_what_is_listed(
    backend: CpuBackend, name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task.of_project(Project.load(sample_root() / name / f"{name}.glassbox"))
    batch, rows = task.batch_rows, 0
    with Network(task, backend) as network:
        network.initialise(0, mode)
        if mode != "infer":
            samples = task.training_samples()
            rows = len(samples)
            feeder = DataFeeder(network, mode, samples, batch, 0, 1 << 30)
            order = np.arange(rows, dtype=np.int32)
            network.session.write(f"{'train' if mode == 'train' else 'eval'}/order", order)
            feeder.position(StepRange(0, 0, batch, 1), step=0, epoch=0, record=0)
        check_lines(network, mode, batch, rows, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, work in WORKLOADS.items() if work.optimizer])
def test_lines_of_a_measured_network_call_what_is_listed(
    backend: CpuBackend, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (batch,) = WORKLOADS[name].batches_cpu
    with ready_to_train(WORKLOADS[name], batch, backend) as (network, _):
        check_lines(network, "train", batch, batch, monkeypatch)


@pytest.mark.slow
def test_lines_of_a_network_of_depthwise_windows_call_what_is_listed(
    backend: CpuBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, _ = network_of(WORKLOADS["W1"], 1, backend)
    with network:
        check_lines(network, "infer", 1, 0, monkeypatch)
