"""The plugins a project uses: their record in its file, and placeholders for absent ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from studio.engine.core.configured import Configured
from studio.engine.core.errors import FormatError, ParameterError, quoted
from studio.engine.core.options import Plain
from studio.engine.core.stand_ins import StandIn, stand_in
from studio.engine.layers.activation_catalog import (
    FUNCTIONS,
    absent_activation,
    activation_of_alias,
    activation_options,
    stand_in_activation,
)
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer
from studio.engine.layers.missing import MissingLayer
from studio.engine.optim.losses import Loss
from studio.engine.optim.metrics import Metric
from studio.engine.optim.optimizers import Optimizer
from studio.engine.optim.schedules import Schedule
from studio.engine.plugins.plugin import Plugin, plugin_of
from studio.engine.train.callbacks.callback import ProjectCallback
from studio.engine.train.settings import TrainingSettings

FAMILIES: Mapping[str, type[Configured]] = {
    base.family_name: base for base in (Layer, Loss, Metric, Optimizer, Schedule, ProjectCallback)
}
"""What a plugin can give a project, by family; activations beside them."""

ACTIVATION = "activation"
"""The family of activations, which are names of instructions and no classes."""

Drawn: TypeAlias = tuple[str, Mapping[str, object]]
"""Type and options of a layer on the canvas."""

_MOST = 1000
_LONGEST = 64


@dataclass(frozen=True)
class PluginUse:
    """What a project has of one plugin.

    Attributes:
        plugin: its name, and the version the project was last saved with.
        classes: names of the classes used, by family.
    """

    plugin: Plugin
    classes: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Plain]:
        """``{"version", "classes": {family: [names]}}``."""
        families = sorted({family for family, _ in self.classes})
        named: dict[str, Plain] = {
            family: [name for each, name in self.classes if each == family] for family in families
        }
        return {"version": self.plugin.version, "classes": named}


def plugins_used(
    graph: LayerGraph | None, training: TrainingSettings | None, drawn: Iterable[Drawn] = ()
) -> tuple[PluginUse, ...]:
    """The plugins that network and training settings use, loaded or not.

    Args:
        graph: the network.
        training: its training settings.
        drawn: layers that are drawn, whether or not they take part in the network.
    """
    settings = [(type(each), each.option_values) for each in _settings(graph, training)]
    classes = [(Layer.members.find(name), config) for name, config in drawn]
    configured = [*settings, *((cls, config) for cls, config in classes if cls is not None)]
    found: dict[str, tuple[Plugin, set[tuple[str, str]]]] = {}

    def add(plugin: object, family: str, name: str) -> None:
        if isinstance(plugin, Plugin):
            found.setdefault(plugin.name, (plugin, set()))[1].add((family, name))

    for cls, config in configured:
        plugin = cls.home if issubclass(cls, StandIn) else plugin_of(cls)
        add(plugin, cls.family_name, cls.__name__)
        for activation in activations_in(cls, config):
            add(_home_of(activation), ACTIVATION, activation)
    return tuple(
        PluginUse(plugin, tuple(sorted(classes))) for _, (plugin, classes) in sorted(found.items())
    )


def check_complete(graph: LayerGraph, training: TrainingSettings) -> None:
    """ParameterError where a network or its training needs a plugin that is not loaded."""
    for each in _settings(graph, training):
        if isinstance(each, StandIn):
            raise ParameterError(
                f"{type(each).__name__} comes from {each.home}, which is not loaded",
                who=each.who,
                hint="install it and turn it on",
            )
        for activation in activations_in(type(each), each.option_values):
            home = absent_activation(activation)
            if home is not None:
                raise ParameterError(
                    f"the activation {activation} comes from {home}, which is not loaded",
                    who=each.who,
                    hint="install it and turn it on",
                )


def activations_in(cls: type[Configured], config: Mapping[str, object]) -> Iterator[str]:
    """The names of the activations in the options of a class."""
    for name in activation_options(cls):
        activation = config.get(name)
        if isinstance(activation, str):
            yield activation_of_alias(activation)


def _home_of(activation: str) -> object | None:
    function = FUNCTIONS.get(activation)
    if function is None:
        return absent_activation(activation)
    return None if function.cls is None else plugin_of(function.cls)


def missing_settings(training: TrainingSettings) -> tuple[StandIn, ...]:
    """The parts of training settings that come from plugins that are not loaded."""
    return tuple(each for each in _inside(training) if isinstance(each, StandIn))


def _settings(graph: LayerGraph | None, training: TrainingSettings | None) -> Iterator[Configured]:
    for layer in () if graph is None else graph.layers():
        yield from _inside(layer)
    yield from _inside(training)


def _inside(value: object) -> Iterator[Configured]:
    if isinstance(value, Configured):
        yield value
        for each in value.option_values.values():
            yield from _inside(each)
    elif isinstance(value, Mapping):
        yield from _inside(tuple(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _inside(each)


def prepare_stand_ins(data: object) -> None:
    """Add placeholders for the plugin classes of a project file that are not loaded.

    Args:
        data: what the file says of plugins.

    Raises:
        FormatError: it is not of the form that `PluginUse.to_json` writes.
    """
    uses = tuple(_use(name, entry) for name, entry in _object(data, "plugins").items())
    if sum(len(use.classes) for use in uses) > _MOST:
        raise FormatError(f"expected at most {_MOST} classes", who="plugins")
    for use in uses:
        for family, name in use.classes:
            if family == ACTIVATION:
                stand_in_activation(name, use.plugin)
                continue
            base = FAMILIES[family]
            known = base.members.find(name)
            # The file opened last says what a stand-in stands for: another may have had the name.
            if known is None or (issubclass(known, StandIn) and known.home != use.plugin):
                own = MissingLayer if base is Layer else None
                stand_in(base, name, use.plugin, own)


def _use(name: str, entry: object) -> PluginUse:
    fields = _object(entry, name)
    version = fields.get("version")
    if not _is_name(name) or not isinstance(version, str) or len(version) > _LONGEST:
        raise FormatError("expected a name and a version", who="plugins")
    classes = []
    for family, names in _object(fields.get("classes"), name).items():
        if family not in (*FAMILIES, ACTIVATION) or not isinstance(names, list):
            raise FormatError(f"expected lists of classes, got {quoted(family)}", who=name)
        for each in names:
            if not isinstance(each, str) or not _is_name(each):
                raise FormatError(f"expected the name of a class, got {quoted(each)}", who=name)
            classes.append((family, each))
    return PluginUse(Plugin(name, version), tuple(classes))


def _is_name(text: str) -> bool:
    return text.isidentifier() and len(text) <= _LONGEST


def _object(value: object, who: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormatError(f"expected an object, got {quoted(value)}", who=who)
    return value
