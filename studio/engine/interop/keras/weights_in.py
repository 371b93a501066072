"""The weights of a Keras model from an HDF5 file, in the form of Keras 3 or in the older one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, FormatError, quoted
from studio.engine.formats.hdf5_reading import Hdf5File
from studio.engine.interop.imported import ImportedLayer
from studio.engine.interop.keras.description import KerasModel
from studio.engine.interop.keras.variables import KerasVariable, layer_paths, legacy_groups
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import shape_text
from studio.engine.layers.named_parameters import NamedParameter, named_parameters
from studio.engine.layers.weights import to_stored

Array: TypeAlias = npt.NDArray[np.generic]

_SHOWN = 3
"""Weights that an error or a remark names."""

_OLD_SLOTS = frozenset(
    {"m", "v", "vhat", "momentum", "rms", "mg", "accumulator", "accum_grad", "accum_var"}
)
"""What Keras before 2.11 called the variables of its optimisers, behind the weight's name."""

_GENERATOR = "seed_generator"
"""What Keras calls the random numbers of a layer, whose state is kept as weights are."""


@dataclass
class FoundWeights:
    """What an HDF5 file holds for a network.

    Attributes:
        weights: by tensor name, as stored here.
        left_out: what else was in the file, one sentence each.
        remarks: what is worth knowing of the weights.
    """

    weights: dict[str, Array] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class WeightReader:
    """Reads the weights of one model from one file.

    Args:
        file: the open file.
        model: the model.
        graph: the network it is here.
        layers: what its layers became.
        variables: its weights.
        who: the file, for errors.
        hear: hears the share of the weights that is read; may raise to stop.
    """

    def __init__(
        self,
        file: Hdf5File,
        model: KerasModel,
        graph: LayerGraph,
        layers: Sequence[ImportedLayer],
        variables: Sequence[KerasVariable],
        who: str,
        hear: Callable[[float], None] | None = None,
    ) -> None:
        self._file = file
        self._model = model
        self._own = {each.name: each for each in named_parameters(graph)}
        self._unused = {each.name for each in layers if not each.layer}
        self._variables = variables
        self._who = who
        self._hear = hear
        self._notes: dict[str, list[str]] = {}

    def by_path(self) -> FoundWeights:
        """The weights of a file of Keras 3.

        Raises:
            CheckpointError: a weight is missing, has another shape or dtype, or fits no layer.
            FormatError: the file is damaged.
        """
        pairs = [(each, each.path) for each in self._variables]
        self._require({path: each.parameter for each, path in pairs})
        used = {path for _, path in pairs}
        found = FoundWeights()
        unused = tuple(f"{path}/" for path in self._paths_of_unused())
        generators = 0
        for path in self._file.described:
            if path in used or not path.startswith("layers/"):
                continue
            if f"/{_GENERATOR}/" in path:
                generators += 1
            elif path.startswith(unused):
                found.left_out.append(f"weights of a layer that no output needs: {path}")
            else:
                raise CheckpointError(f"{quoted(path)} fits no layer", who=self._who)
        if generators:
            found.left_out.append(
                f"the state of the random numbers of {generators} "
                f"layer{'s' * (generators > 1)}: they are drawn from the project's seed"
            )
        return self._read(pairs, found)

    def by_group(self, prefix: str) -> FoundWeights:
        """The weights of the older form, below a group of the file.

        Raises:
            CheckpointError: as `by_path`.
            FormatError: the file is damaged.
        """
        pairs: list[tuple[KerasVariable, str]] = []
        found = FoundWeights()
        groups = legacy_groups(self._model, self._variables)
        names = listed_names(self._file, prefix, "layer_names", self._who)
        for name in names:
            place = _joined(prefix, name)
            held = [
                _joined(place, each)
                for each in listed_names(self._file, place, "weight_names", self._who)
            ]
            members = groups.pop(name, None)
            if members is None and held:
                raise CheckpointError(f"there is no layer {quoted(name)}", who=self._who)
            members = members or []
            if held and not members and self._is_unused(name):
                found.left_out.append(f"weights of a layer that no output needs: {name}")
                continue
            if len(held) != len(members):
                raise CheckpointError(
                    f"{quoted(name)}: expected {len(members)} weights, got {len(held)}",
                    who=self._who,
                )
            pairs += zip(members, held, strict=True)
        lost = next((name for name, members in groups.items() if members), None)
        if lost is not None:
            raise CheckpointError(f"there is nothing for {quoted(lost)}", who=self._who)
        self._require({path: each.parameter for each, path in pairs})
        return self._read(pairs, found)

    def _paths_of_unused(self) -> Iterable[str]:
        """Paths of layers that became none, those in nested models too."""
        waiting = [("layers", "", self._model)]
        while waiting:
            prefix, place, model = waiting.pop()
            for path, layer in layer_paths(model, prefix):
                if layer.model is not None:
                    waiting.append((f"{path}/layers", f"{place}{layer.name}/", layer.model))
                elif place + layer.name in self._unused:
                    yield path

    def _is_unused(self, name: str) -> bool:
        """Whether nothing of a layer of the outermost model is in the network."""
        used = {each.group for each in self._variables}
        return name not in used

    def _require(self, wanted: Mapping[str, str]) -> None:
        """CheckpointError where an array is not in the file; they are named."""
        missing = [name for path, name in wanted.items() if path not in self._file.described]
        if missing:
            shown = ", ".join(quoted(name) for name in missing[:_SHOWN])
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise CheckpointError(f"there is nothing for {shown}{more}", who=self._who)

    def _read(
        self, pairs: Sequence[tuple[KerasVariable, str]], found: FoundWeights
    ) -> FoundWeights:
        """The arrays at these paths, each brought to its stored form as soon as it is read."""
        for index, (variable, path) in enumerate(pairs):
            each = self._own[variable.parameter]
            self._check(each, path)
            values = self._file.arrays[path]
            found.weights[each.name] = self._stored(each, values)
            if self._hear is not None:
                self._hear((index + 1) / len(pairs))
        for text, names in self._notes.items():
            shown = ", ".join(names[:_SHOWN])
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            found.remarks.append(f"{text}: {shown}{more}")
        return found

    def _check(self, each: NamedParameter, path: str) -> None:
        """CheckpointError unless the array is of that shape and holds fractions."""
        described = self._file.described[path]
        if described.shape != each.public_shape:
            raise CheckpointError(
                f"{quoted(each.name)}: expected {shape_text(each.public_shape)}, got "
                f"{shape_text(described.shape)}",
                who=self._who,
            )
        if described.dtype.kind != "f":
            raise CheckpointError(
                f"{quoted(each.name)}: expected float32, got {described.stored}",
                who=self._who,
                hint="save the model without quantisation",
            )

    def _stored(self, each: NamedParameter, values: Array) -> Array:
        """Values as stored here, float32; what that changes is noted."""
        if values.dtype == np.float64:
            self._notes.setdefault("rounded to float32", []).append(each.name)
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        if not np.isfinite(values).all():
            self._notes.setdefault("NaN or infinity among the weights", []).append(each.name)
        return to_stored(each.layer, each.parameter, values)


def listed_names(file: Hdf5File, path: str, name: str, who: str) -> list[str]:
    """An attribute that is a list of names; Keras splits a long one into numbered parts.

    FormatError with ``who`` where it is anything else.
    """
    held = file.attributes.get(path, {})
    parts = [name] if name in held else []
    while f"{name}{len(parts)}" in held and (not parts or parts[0] != name):
        parts.append(f"{name}{len(parts)}")
    found: list[str] = []
    for part in parts:
        value = held[part]
        if not isinstance(value, list) or any(not isinstance(each, str) for each in value):
            place = quoted(path) if path else "the file"
            raise FormatError(f"{quoted(part)} of {place} is no list of names", who=who)
        found += [str(each) for each in value]
    return found


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def optimizer_arrays(file: Hdf5File) -> list[Array]:
    """The variables of the optimiser in a file of Keras 3, in their order."""
    found: list[Array] = []
    while (path := f"optimizer/vars/{len(found)}") in file.described:
        found.append(file.arrays[path])
    return found


def legacy_optimizer_arrays(file: Hdf5File, who: str) -> list[Array] | None:
    """The variables of the optimiser in the older form, in their order.

    None where they are in the order of Keras before 2.11, which had all means before all squares
    and no name that says so but the last word.
    """
    found: list[Array] = []
    for name in listed_names(file, "optimizer_weights", "weight_names", who):
        path = f"optimizer_weights/{name}"
        if name.rpartition("/")[2].removesuffix(":0") in _OLD_SLOTS:
            return None
        if path not in file.described:
            raise FormatError(f"there is nothing for {quoted(name)}", who=who)
        found.append(file.arrays[path])
    return found


def weight_names(file: Hdf5File) -> dict[str, str]:
    """Paths of the weights in a file of weights alone, by names like those here.

    In the older form weights have names; in that of Keras 3 a layer has one in files of 3.6 and
    newer, and otherwise that of its class with a number. Two layers of one name keep their paths.
    """
    groups: dict[str, list[str]] = {}
    for path in file.described:
        place, _, last = path.rpartition("/")
        is_weight = place.endswith("/vars") and last.isdecimal() and path.startswith("layers/")
        if is_weight and f"/{_GENERATOR}/" not in path:
            groups.setdefault(place, []).append(path)
    if not groups:
        held = [path for path in file.described if not path.startswith("optimizer")]
        return {path.partition("/")[2].removesuffix(":0") or path: path for path in held}
    titles = {place: _title(file, place) for place in groups}
    counts = Counter(titles.values())
    found = {}
    for place, paths in groups.items():
        title = titles[place] if counts[titles[place]] == 1 else place.removesuffix("/vars")
        ordered = sorted(paths, key=lambda each: int(each.rpartition("/")[2]))
        is_norm = place.split("/")[-2].startswith("batch_normalization")
        roles = tuple(map(str, range(len(ordered))))
        if is_norm == (len(ordered) == len(_NORM_ROLES)):
            roles = _NORM_ROLES if is_norm else _ROLES.get(len(ordered), roles)
        found.update({f"{title}/{role}": each for role, each in zip(roles, ordered, strict=True)})
    return found


def _title(file: Hdf5File, place: str) -> str:
    """What the file calls the layer whose weights stand in a group."""
    name = file.attributes.get(place, {}).get("name")
    return name if isinstance(name, str) and name else place.split("/")[-2]


_ROLES: Mapping[int, tuple[str, ...]] = {1: ("kernel",), 2: ("kernel", "bias")}
"""Roles by the count of weights."""

_NORM_ROLES = ("gamma", "beta", "moving_mean", "moving_variance")
"""Roles of a batch normalisation; one that lacks some is found by its shapes."""
