"""Training on a set ten times as large as the memory that the process may take.

python -m benchmarks.streaming --mib 4096 --kind npy

Writes a set of that size into a temporary folder, then trains on it in a process whose memory the
system limits to a tenth of the set (RLIMIT_DATA: what a process allocates; not the system's own
cache of files), and prints what that process took. Linux only.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.timing import machine
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.pooling import GlobalAveragePooling2D
from studio.engine.train.data.stored_rows import StoredRows
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task

_MIB = 1 << 20
_SHARE = 10
_SIDES = {"npy": 64, "folder": 512}
_CLASSES = 4
_EPOCHS = 2


def make(folder: Path, kind: str, nbytes: int) -> None:
    """Write pictures, random within what their class allows, of so many bytes in memory."""
    rng, side = np.random.default_rng(0), _SIDES[kind]
    count = nbytes // (side * side * 3)
    labels = rng.integers(0, _CLASSES, count)
    if kind == "npy":
        x = np.lib.format.open_memmap(
            folder / "x.npy", mode="w+", dtype=np.uint8, shape=(count, side, side, 3)
        )
        some = rng.integers(0, 120, (256, side, side, 3), np.uint8)
        for begin in range(0, count, 1000):
            own = (40 * labels[begin : begin + 1000, None, None, None]).astype(np.uint8)
            x[begin : begin + 1000] = some[rng.integers(0, len(some), len(own))] + own
        x.flush()
        np.save(folder / "y.npy", labels)
        return
    for index, label in enumerate(labels):
        path = folder / "pictures" / str(label) / f"{index:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 120, (side // 32, side // 32, 3)) + 40 * label
        Image.fromarray(small.astype(np.uint8)).resize((side, side)).save(path)


def train(folder: Path, kind: str, backend: str, limit: int) -> dict[str, object]:
    """Train under the limit; what that took."""
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    side = _SIDES[kind]
    graph = LayerGraph("streamed")
    x = graph.add(GlobalAveragePooling2D(), graph.add(Input((side, side, 3))))
    graph.outputs = (graph.add(Dense(_CLASSES, "softmax"), graph.add(Dense(8, "relu"), x)),)
    data = {"source": "npz", "x": "x.npy", "y": "y.npy", "normalization": "unit"}
    if kind == "folder":
        data = {"source": "images", "path": "pictures", "normalization": "unit"}
    Project.new("streamed", graph, data, {"epochs": _EPOCHS, "batch_size": 32}).save(
        folder / "streamed.glassbox"
    )
    begin = time.perf_counter()
    task = Task.of_project(Project.load(folder / "streamed.glassbox"))
    opened = time.perf_counter() - begin
    samples = task.training_samples()
    with open_backend(backend) as device, Trainer(task, device.backend) as trainer:
        begin = time.perf_counter()
        result = trainer.run()
        took = time.perf_counter() - begin
    seen = _EPOCHS * sum(len(p) for p in (samples, task.test) if p is not None)
    row_bytes = samples.inputs[0].nbytes // len(samples)
    return {
        "samples": seen // _EPOCHS,
        "set, MiB": seen // _EPOCHS * row_bytes // _MIB,
        "limit, MiB": limit // _MIB,
        "in its files": isinstance(samples.inputs[0], StoredRows),
        "memory for samples, MiB": samples.stored_budget // _MIB,
        "peak RSS, MiB": peak_rss() // _MIB,
        "opened, s": round(opened, 1),
        "epoch, s": round(took / _EPOCHS, 1),
        "read while training, MiB/s": round(seen * row_bytes / _MIB / took),
        "loss": [round(value, 4) for value in result.history["loss"]],
        "device": device.backend.device,
    }


def peak_rss() -> int:
    """Most bytes this process had in memory; ``ru_maxrss`` counts what its parent had, too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the set, train in a limited process, print what that took as a Markdown list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mib", type=int, default=4096, help="size of the set in memory")
    parser.add_argument("--kind", choices=tuple(_SIDES), default="npy")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    parser.add_argument("--unlimited", action="store_true", help="limit nothing")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    limit = 0 if options.unlimited else options.mib * _MIB // _SHARE
    if options.child:
        found = train(Path(options.child), options.kind, options.backend, limit)
        print(json.dumps(found))
        return 0
    with tempfile.TemporaryDirectory(prefix="glassbox-streaming-") as folder:
        make(Path(folder), options.kind, options.mib * _MIB)
        words = ["--mib", str(options.mib), "--kind", options.kind, "--backend", options.backend]
        words += ["--unlimited"] if options.unlimited else []
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.streaming", *words, "--child", folder],
            stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    if answer.returncode:
        return answer.returncode
    found = {**machine(), **json.loads(answer.stdout)}
    print("\n".join(f"- {key}: {value}" for key, value in found.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
