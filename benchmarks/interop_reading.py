"""How long models of other programs take to be read, and in how much memory, helpers included.

    python -m benchmarks.interop_reading
    python -m benchmarks.interop_reading --models VGG16 --endings .keras
    python -m benchmarks.interop_reading model.keras other.h5

Without files, Keras' application models with random weights are saved by Keras first. Every row is
a process of its own that has loaded the engine but read nothing; it says when it begins and ends,
and from outside the memory of it and of the processes it starts is summed up every few
milliseconds. *arrays* reads every array of the file once and keeps it; *model* imports the network
with its weights; *listing* goes on until the compiled inference program is text. Allowed are 2 s
and 25 ms per MB, and three times the file and 150 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import machine

MODELS = ("MobileNetV2", "ResNet50", "VGG16")
ENDINGS = (".keras", ".h5")
STAGES = ("arrays", "model", "listing")
MB = 1_000_000

SAVE = """
import sys
import keras
keras.utils.set_random_seed(1)
model = getattr(keras.applications, sys.argv[1])(weights=None)
for path in sys.argv[2:]:
    model.save(path)
"""


def arrays(path: Path) -> object:
    """Read and keep every array."""
    from studio.engine.formats.byte_source import open_source
    from studio.engine.formats.hdf5_reading import read_hdf5, read_hdf5_member
    from studio.engine.formats.limits import DEFAULT_LIMITS
    from studio.engine.formats.safe_zip import list_members

    if path.suffix != ".keras":
        with read_hdf5(path) as file:
            return dict(file.arrays)
    with open_source(path, DEFAULT_LIMITS, "Keras") as opened:
        members = {each.name: each for each in list_members(opened, DEFAULT_LIMITS)}
        with read_hdf5_member(opened, path, members["model.weights.h5"]) as file:
            return dict(file.arrays)


def model(path: Path) -> object:
    """Import the network with its weights."""
    from studio.engine.train.importing.project import read_model

    return read_model(path)


def listing(path: Path) -> object:
    """Import a model and write its compiled inference program as text."""
    from studio.engine.compiler.lower import lower
    from studio.engine.compiler.pipeline import compile_program
    from studio.engine.compiler.target import CPU
    from studio.engine.isa.text import format_program
    from studio.engine.train.importing.project import read_model

    found = read_model(path)
    return found, format_program(compile_program(lower(found.graph, "infer"), CPU))


def measure(path: Path, stage: str) -> None:
    """Read a file in this process; a line when it begins and when it is done."""
    import studio.engine.train.importing.project  # noqa: F401  What a start costs is no reading.
    from studio.engine.formats.hdf5_child import CHILDREN

    print("ready", flush=True)
    sys.stdin.readline()
    began, before = time.perf_counter(), os.times()
    kept = {"arrays": arrays, "model": model, "listing": listing}[stage](path)
    seconds = time.perf_counter() - began
    # The time of a process that was started is known when it has ended.
    CHILDREN.close()
    work = sum(os.times()[:4]) - sum(before[:4])
    print(json.dumps([seconds, work]), flush=True)
    sys.stdin.readline()
    del kept


def held(pid: int) -> int:
    """Bytes that a process and those it started have in memory."""
    try:
        folder = Path(f"/proc/{pid}")
        pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
        below = [each for task in (folder / "task").iterdir()
                 for each in (task / "children").read_text(encoding="ascii").split()]  # fmt: skip
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(held(int(each)) for each in below)


def row(path: Path, stage: str) -> tuple[float, float, int]:
    """Seconds, those of the processor, and the most bytes above those before it began."""
    command = [sys.executable, "-m", "benchmarks.interop_reading", "--stage", stage, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        before = most = held(process.pid)
        process.stdin.write("\n")
        os.set_blocking(process.stdout.fileno(), False)
        while not (said := process.stdout.readline()) and process.poll() is None:
            most = max(most, held(process.pid))
            time.sleep(0.003)
        process.communicate("\n")
    seconds, work = json.loads(said or "[NaN, NaN]")
    return seconds, work, most - before


def save(name: str, endings: list[str], folder: Path) -> list[Path]:
    """Have Keras save one of its models."""
    paths = [folder / f"{name}{ending}" for ending in endings]
    environment = {"KERAS_BACKEND": "jax", **os.environ}
    subprocess.run([sys.executable, "-c", SAVE, name, *map(str, paths)], env=environment,
                   check=True)  # fmt: skip
    return paths


def show(path: Path, stages: list[str]) -> None:
    """Print the rows of a file."""
    size = path.stat().st_size / MB
    for stage in stages:
        seconds, work, memory = row(path, stage)
        taken = f"{seconds:.2f} | {work:.2f} | {2 + size * 0.025:.1f}"
        memories = f"{memory / MB:.0f} | {3 * size + 150:.0f}"
        print(f"| {path.name} | {size:.0f} | {stage} | {taken} | {memories} |", flush=True)


def main() -> None:
    """Make the files, read each, print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--endings", default=",".join(ENDINGS))
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--stage", choices=STAGES, help="read one file in this process")
    given = parser.parse_args()
    if given.stage:
        measure(given.files[0], given.stage)
        return
    stages = given.stages.split(",")
    print(", ".join(machine().values()))
    print("| file | MB | until | s | s of the processor | allowed | MB more | allowed |")
    print("|---|---|---|---|---|---|---|---|")
    for path in given.files:
        show(path, stages)
    for name in () if given.files else given.models.split(","):
        with tempfile.TemporaryDirectory() as folder:
            for path in save(name, given.endings.split(","), Path(folder)):
                show(path, stages)


if __name__ == "__main__":
    main()
