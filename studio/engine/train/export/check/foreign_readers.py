"""Programs besides Glassbox that read exported files, to judge what it wrote.

None of them is needed. The process that checks an export imports one where it is installed, and
reads with Glassbox where none is, or where ``GLASSBOX_FOREIGN_READERS=off``. To add a reader, write
a class and put it in `READERS`.
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]

VARIABLE = "GLASSBOX_FOREIGN_READERS"
_BATCH = 16


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


READERS: tuple[ForeignReader, ...] = (
    NumPyReader(),
    SafetensorsReader(),
    KerasReader(),
    OnnxRuntimeReader(),
    OnnxReferenceReader(),
)
"""All there are; of several for one format the first that is installed is used."""


def readers_of(form: str) -> tuple[ForeignReader, ...]:
    """The foreign readers of a format, whether they are installed or not; none if they are off."""
    if os.environ.get(VARIABLE, "").strip().lower() == "off":
        return ()
    return tuple(each for each in READERS if form in each.formats)


def _listed(found: object) -> list[Array]:
    """One array per output."""
    several = found if isinstance(found, list | tuple) else [found]
    return [np.asarray(each) for each in several]
