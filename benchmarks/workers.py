"""Training by one and by two workers, a GPU each, beside PyTorch's DistributedDataParallel.

``python -m benchmarks.workers`` prints rows a second of ResNet-20 and a network like ResNet-50, of
ours and of PyTorch (where it is installed), with as many rows for each worker. Beside each row of
ours stands what the thread that runs steps was held up by, and below how fast gradients are copied
and added. ``--exchange-only`` measures sums alone, in shared memory and by MPI, without a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ours import task_of, write_start
from benchmarks.workloads import WORKLOADS, Layers, Workload, data, start
from studio.engine.compiler.passes import bucket_gradients
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.fences import Fence
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.exchange import Exchange, Floats
from studio.engine.scale.parallel.joining import take_cores
from studio.engine.scale.parallel.mpi_exchange import MpiExchange
from studio.engine.scale.parallel.process_manager import ProcessManager
from studio.engine.train.data.samples import Samples
from studio.engine.train.devices import open_backend
from studio.engine.train.network.data_feeder import DataFeeder
from studio.engine.train.network.network import Network

BLOCKS = 5
MIB = 64
SUM_MB = 100
WAITS = {
    "ms device": "waiting for the device (computing, read back)",
    "ms sums": "waiting for sums",
    "ms copies": "issuing copies",
}
PATIENCE = 150


def resnet50(o: Layers, x: Any) -> Any:
    """ResNet-50 with 2x2 pooling behind the stem."""
    x = o.maxpool(o.relu(o.norm(o.conv(x, 64, 7, 2, bias=False))))
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if filters > 64 and block == 0 else 1
            y = o.relu(o.norm(o.conv(x, filters, 1, bias=False)))
            y = o.relu(o.norm(o.conv(y, filters, 3, stride, bias=False)))
            y = o.norm(o.conv(y, 4 * filters, 1, bias=False))
            if block == 0:
                x = o.norm(o.conv(x, 4 * filters, 1, stride, bias=False))
            x = o.relu(o.add(x, y))
    return o.dense(o.mean(x), 1000)


WORKS = {
    "resnet20": (WORKLOADS["W4"], 128, 40),
    "resnet50": (
        Workload("R50", "ResNet-50 224x224", resnet50, (224, 224, 3), 1000, "sgd", (), ()), 32, 5,
    ),
}  # fmt: skip
"""By name: the network, rows for each worker, steps of a timed block."""


def rows_a_second(block: Callable[[], object], rows: int) -> dict[str, float]:
    """Median, lowest and highest of several blocks, behind one that is not counted."""
    block()
    found = []
    for _ in range(BLOCKS):
        begun = time.perf_counter()
        block()
        found.append(rows / (time.perf_counter() - begun))
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def ours(
    work: Workload, each: int, steps: int, backend: Backend, exchange: Exchange | None
) -> dict[str, float]:
    """Our rows a second, those of all workers together, and milliseconds of a step by part."""
    batch = each * (1 if exchange is None else exchange.size)
    samples = Samples(*((array,) for array in data(work, batch)))
    with Network(task_of(work, batch, samples), backend) as network:
        network.initialise(0)
        write_start(network, start(work))
        feeder = DataFeeder(network, "train", samples, batch, 0, 4 << 30)
        ready = next(feeder.step_ranges(0, shuffle=False))
        rates = network.program("train").tensors.named("train/rates").shape[0]
        network.session.write("train/rates", np.full(rates, 0.01, np.float32))
        feeder.position(ready, step=0, epoch=0, record=0)
        executable = network.executable("train", ready.batch)

        def block() -> None:
            executable.run(steps)
            network.session.read("train/ring").result()

        block()
        if exchange is not None:
            exchange.seconds.clear()
        found = rows_a_second(block, steps * batch)
        found["ms a step"] = 1e3 * batch / found["median"]
        if exchange is not None:
            every = steps * (BLOCKS + 1) / 1e3
            found |= {f"ms {what}": each / every for what, each in exchange.seconds.items()}
            found["MiB exchanged"] = exchanged(network.program("train")) / 2**20
        return found


def exchanged(program: Program) -> int:
    """Bytes of what workers exchange in a step."""
    lines = (ins for ins in program if isinstance(ins, AllReduce))
    return sum(4 * program.type_of(ref).numel for ins in lines for ref in ins.xs)


def rates(backend: Backend, exchange: Exchange, mib: int) -> dict[str, float]:
    """GiB a second of a bucket to the host, back, and added, each with its waits."""
    nbytes = mib << 20
    size = nbytes / 2**30
    if not isinstance(backend, GlBackend):
        return {"sum": sum_rate(exchange, np.ones(nbytes // 4, np.float32))}
    work = backend.work
    call, gl, pool = work.engine.call, work.gl, work.pool
    there = call(pool.acquire, nbytes, "a measurement")
    here = call(pool.acquire, nbytes, "a measurement", kind="exchange")
    memory = here.memory

    def down() -> None:
        pool.copy(there.slice(), here.slice())
        Fence(gl).wait()

    def up() -> None:
        pool.copy(here.slice(), there.slice())
        gl.finish()

    found = {
        "read back": _rate(lambda: call(down), size),
        "upload": _rate(lambda: call(up), size),
    }
    values = np.empty(nbytes // 4, np.float32) if memory is None else memory.view(np.float32)
    values[:] = 1.0
    found["sum"] = sum_rate(exchange, values)
    call(pool.release, here)
    call(pool.release, there)
    return found


def sum_rate(exchange: Exchange, values: Floats) -> float:
    """GiB a second of sums in place."""
    share = 1 / exchange.size
    return _rate(lambda: exchange.begin_sum(values, values, share).wait(), values.nbytes / 2**30)


def _rate(work: Callable[[], object], size: float) -> float:
    work()
    found = []
    for _ in range(BLOCKS):
        begun = time.perf_counter()
        work()
        found.append(size / (time.perf_counter() - begun))
    return statistics.median(found)


def our_worker(options: argparse.Namespace) -> None:
    """One of our workers; the first writes what was found."""
    bucket_gradients.BUCKET_BYTES = options.bucket_mib << 20
    exchange = MpiExchange() if options.workers > 1 else None
    if exchange is not None:
        take_cores(exchange)
    found: dict[str, Any] = {}
    with open_backend(options.backend, exchange=exchange) as device:
        found["device"] = device.backend.device
        for name in options.works.split(","):
            work, each, steps = sized(name, options)
            found[name] = ours(work, each, steps, device.backend, exchange)
            write(options.worker, found, exchange is None or exchange.rank == 0)
        if exchange is not None:
            for mib in (bucket_gradients.BUCKET_BYTES >> 20, MIB):
                found[f"{mib} MiB"] = rates(device.backend, exchange, mib)
            write(options.worker, found, exchange.rank == 0)
    if exchange is not None:
        exchange.close()


def sum_worker(options: argparse.Namespace) -> None:
    """One of several workers that only add; the first writes how fast."""
    exchange = MpiExchange(shared=options.system == "memory")
    if exchange.adds_in_memory == (options.system == "memory"):
        take_cores(exchange)
        values = np.ones(SUM_MB * 10**6 // 4, np.float32)
        write(options.worker, {"GiB/s": sum_rate(exchange, values)}, exchange.rank == 0)
    exchange.close()


def torch_worker(options: argparse.Namespace) -> None:
    """One worker of PyTorch; the first writes what was found."""
    import torch
    import torch.nn.functional as F  # noqa: N812
    from torch.nn.parallel import DistributedDataParallel

    from benchmarks.peers.torch_steps import TorchLayers

    rank = int(os.environ["RANK"])
    is_cuda = torch.cuda.is_available()
    device = f"cuda:{rank % torch.cuda.device_count()}" if is_cuda else "cpu"
    if is_cuda:
        torch.cuda.set_device(device)
    if options.workers > 1:
        torch.distributed.init_process_group("nccl" if is_cuda else "gloo")
    found: dict[str, Any] = {"device": torch.cuda.get_device_name() if is_cuda else "cpu"}
    for name in options.works.split(","):
        work, each, steps = sized(name, options)
        layers = TorchLayers(start(work), device)

        class Net(torch.nn.Module):
            def __init__(self, layers: TorchLayers, work: Workload) -> None:
                super().__init__()
                self.given = torch.nn.ParameterList(layers.params)
                layers.params = list(self.given)
                self.layers, self.work = layers, work

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                self.layers.restart()
                return self.work.network(self.layers, x)

        net: torch.nn.Module = Net(layers, work)
        if options.workers > 1:
            net = DistributedDataParallel(net, device_ids=[device] if is_cuda else None)
        optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        x, y = data(work, each, seed=rank)
        inputs = torch.from_numpy(x).to(device).permute(0, 3, 1, 2)
        inputs = inputs.contiguous(memory_format=torch.channels_last)
        labels = torch.from_numpy(y.astype(np.int64)).to(device)

        def block(
            net: Any = net, optimizer: Any = optimizer, inputs: Any = inputs, labels: Any = labels,
            steps: int = steps,
        ) -> None:  # fmt: skip
            for _ in range(steps):
                optimizer.zero_grad(set_to_none=True)
                F.cross_entropy(net(inputs), labels).backward()
                optimizer.step()
            if is_cuda:
                torch.cuda.synchronize()

        found[name] = rows_a_second(block, steps * each * options.workers)
        write(options.worker, found, rank == 0)
    if options.workers > 1:
        torch.distributed.destroy_process_group()


def sized(name: str, options: argparse.Namespace) -> tuple[Workload, int, int]:
    """A workload by name, rows for each worker and steps of a block, smaller where asked for."""
    work, each, steps = WORKS[name]
    if options.small:
        return replace(work, shape=(32, 32, 3)), 4, 2
    return work, each, steps


def write(path: str, found: dict[str, Any], wanted: bool) -> None:
    """Keep what was found so far."""
    if wanted:
        Path(path).write_text(json.dumps(found), encoding="utf-8")


def run(system: str, workers: int, options: argparse.Namespace) -> dict[str, Any]:
    """What a system finds with so many workers; it is ended when it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [
            sys.executable, "-m", "benchmarks.workers", "--worker", str(path), "--system", system,
            "--workers", str(workers), "--works", options.works, "--backend", options.backend,
            "--bucket-mib", str(options.bucket_mib), *(["--small"] if options.small else []),
        ]  # fmt: skip
        if system != "torch":
            with ProcessManager(command, workers) as manager:
                manager.wait()
        else:
            run_torch(command, workers)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def run_torch(command: list[str], workers: int) -> None:
    """Start PyTorch's workers and wait for them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(workers)}
    # Multicast over NVLink is not there on every host that has NVLink.
    shared["NCCL_NVLS_ENABLE"] = "0"
    started = [
        subprocess.Popen(command, env={**os.environ, **shared, "RANK": str(rank)})
        for rank in range(workers)
    ]
    end = time.monotonic() + PATIENCE
    for process in started:
        try:
            process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


WORKERS = {"ours": our_worker, "torch": torch_worker, "memory": sum_worker, "mpi": sum_worker}
"""What a worker of a system does."""


def print_sums(options: argparse.Namespace) -> None:
    """Measure and print how fast workers of this host add, in shared memory and by MPI."""
    for workers in (2, 4):
        found = {how: run(how, workers, options).get("GiB/s") for how in ("memory", "mpi")}
        texts = (f"{how} {rate:.2f}" for how, rate in found.items() if rate is not None)
        print(f"{workers} workers add {SUM_MB} MB, GiB/s: {', '.join(texts)}")


def print_parts(found: dict[str, float]) -> None:
    """What a step of ours consists of; computing is what one worker alone takes for it."""
    waits = [f"{found[key]:.2f} {text}" for key, text in WAITS.items() if key in found]
    if waits:
        head = f"{found['ms a step']:.2f} ms a step, {found['MiB exchanged']:.1f} MiB exchanged"
        print(f"    {head}: {', '.join(waits)}")


def main() -> None:
    """Measure ours and PyTorch with one worker and with several, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--works", default="resnet20,resnet50")
    parser.add_argument("--backend", default="gl", choices=["gl", "cpu"])
    parser.add_argument("--most", type=int, default=2, help="workers to compare one with")
    parser.add_argument("--small", action="store_true", help="a moment's work, to try the script")
    parser.add_argument(
        "--bucket-mib", type=int, default=bucket_gradients.BUCKET_BYTES >> 20,
        help="MiB of gradients that travel together",
    )  # fmt: skip
    parser.add_argument(
        "--exchange-only", action="store_true", help="sums alone, of two and of four workers"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--system", default="ours", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        WORKERS[options.system](options)
        return
    if options.exchange_only:
        print_sums(options)
        return
    systems = ["ours", *(["torch"] if find_spec("torch") is not None else [])]
    table = {
        (system, workers): run(system, workers, options)
        for system in systems
        for workers in (1, options.most)
    }
    for (system, workers), found in table.items():
        print(f"{system}, {workers} worker{'s' * (workers > 1)}: {found.get('device', 'failed')}")
        for name in options.works.split(","):
            if name in found:
                one = table[system, 1].get(name, {}).get("median", float("nan"))
                each = found[name]
                print(
                    f"  {name:10} {each['median']:10,.1f} rows/s ({each['low']:,.1f} to "
                    f"{each['high']:,.1f}), {each['median'] / one:.2f} times one worker"
                )
                print_parts(each)
        for name in (name for name in found if name.endswith(" MiB")):
            parts = (f"{what} {value:.2f}" for what, value in found[name].items())
            print(f"  {name}, GiB/s: {', '.join(parts)}")
    if options.json is not None:
        rows = [{"system": s, "workers": w, **found} for (s, w), found in table.items()]
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
