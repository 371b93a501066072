"""Weights as safetensors, in Keras' names and layout.

Small kernels are F16, or I8 beside scales ``<name>.scale`` that broadcast to them: the weight is
``values * scale``. The metadata ``weights`` says which it is. Reading widens both to float32.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from studio.engine.core.errors import CheckpointError, quoted
from studio.engine.formats import safetensors
from studio.engine.interop.file_format import Array, Exportable, FileFormat, ModelFile
from studio.engine.interop.small_weights import CHANNEL_FORMS, SmallWeight
from studio.engine.layers.graph import LayerGraph

FORMAT = "glassbox-weights"
SCALE = ".scale"
"""What the name of a kernel's scales ends with."""
_SHOWN = 100


class Safetensors(FileFormat):
    """All weights by name, as other tools read them."""

    name = "safetensors"
    title = "Weights (safetensors)"
    ending = ".safetensors"
    about = "All weights by name in Keras' layout, for other tools."
    holds = "weights"
    order = 30
    weight_forms = CHANNEL_FORMS

    def sniff(self, head: bytes) -> bool:
        # Behind the length of its header the file goes on with that header, an object.
        return head[8:9] == b"{" and not head.startswith(b"PK")

    def write(self, model: Exportable, path: Path) -> None:
        facts = {"format": FORMAT, "name": model.name, **model.facts}
        arrays = dict(model.public)
        if model.small:
            facts["weights"] = model.weights
        for name, (values, scale) in model.public_small.items():
            arrays[name] = values
            if scale is not None:
                arrays[name + SCALE] = scale
        safetensors.save(path, arrays, facts)

    def read(self, path: Path, graph: LayerGraph | None = None) -> ModelFile:
        arrays, facts = safetensors.load(path)
        if graph is not None:
            return ModelFile(self.weights_of(arrays, graph, str(path)), facts=facts)
        return ModelFile(_widened(arrays, str(path)), facts=facts)

    def weights_of(
        self, arrays: Mapping[str, Array], graph: LayerGraph, who: str
    ) -> Mapping[str, Array]:
        return super().weights_of(_widened(arrays, who), graph, who)

    def summary(self, content: bytes) -> Iterator[str | Mapping[str, Array]]:
        arrays, facts = safetensors.load(content)
        yield f"safetensors, header of {struct.unpack_from('<Q', content)[0]} bytes"
        for key, value in facts.items():
            yield f"{key}: {value[:_SHOWN]}"
        yield arrays


def _widened(arrays: Mapping[str, Array], who: str) -> dict[str, Array]:
    """Arrays with small ones as float32; CheckpointError where scales do not fit what they scale.

    Other whole numbers stay as they are.
    """
    found: dict[str, Array] = {}
    for name, values in arrays.items():
        of = name.removesuffix(SCALE)
        if of != name and of in arrays and arrays[of].dtype == np.int8:
            continue
        scale = arrays.get(name + SCALE)
        if values.dtype == np.int8:
            if scale is None:
                raise CheckpointError(
                    f"{quoted(name)} is int8 and has no scales",
                    who=who,
                    hint=f"an array {quoted(name + SCALE)} must say what to multiply it with",
                )
            found[name] = _scaled(name, values, scale, who)
        else:
            found[name] = values.astype(np.float32) if values.dtype == np.float16 else values
    return found


def _scaled(name: str, values: Array, scale: Array, who: str) -> Array:
    """Values times scales; CheckpointError where these do not fit, or lead beyond float32."""
    fits = scale.ndim == values.ndim and all(
        length in (1, whole) for length, whole in zip(scale.shape, values.shape, strict=True)
    )
    if scale.dtype != np.float32 or not fits:
        raise CheckpointError(
            f"the scales of {quoted(name)} must be float32 and broadcast to "
            f"{list(values.shape)}: got {scale.dtype}{list(scale.shape)}",
            who=who,
        )
    if not np.isfinite(scale).all():
        raise CheckpointError(f"the scales of {quoted(name)} hold NaN or infinity", who=who)
    with np.errstate(over="ignore"):
        found = SmallWeight(values, scale.astype(np.float32, copy=False)).widened()
    if not np.isfinite(found).all():
        raise CheckpointError(f"values times scales of {quoted(name)} exceed float32", who=who)
    return found
