"""What was changed in a project since it was trained, as far as answers depend on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from studio.engine.core.options import Plain
from studio.engine.layers.graph import LayerGraph, Node
from studio.engine.layers.text_form import TextKinds
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.session.core.option_rows import plain_text
from studio.session.data.sources import FORMS

_ARROW = "→"
_MOST_NAMES = 4


def changed_since(trained: Project, now: Project) -> tuple[str, ...]:
    """The differences, a few words each; empty where the weights belong to the project as it is."""
    return (*_graph(trained.graph, now.graph), *_data(trained.data, now.data))


def _graph(before: LayerGraph, after: LayerGraph) -> Iterator[str]:
    old, new = before.nodes, after.nodes
    added = [node.layer.name for key, node in new.items() if key not in old]
    removed = [node.layer.name for key, node in old.items() if key not in new]
    if added:
        yield f"+{_layers(added)}"
    if removed:
        yield f"−{_layers(removed)}"  # noqa: RUF001 (a minus sign, as wide as the plus)
    rewired = []
    for key, node in new.items():
        was = old.get(key)
        if was is None:
            continue
        yield from _options(was, node)
        if was.inputs != node.inputs:
            rewired.append(node.layer.name)
    if rewired and not added and not removed:
        yield f"inputs changed: {_names(rewired)}"
    if before.outputs != after.outputs and not added and not removed:
        yield "outputs changed"


def _options(before: Node, after: Node) -> Iterator[str]:
    name = after.layer.name
    if type(before.layer) is not type(after.layer):
        yield f"{name}: {type(before.layer).__name__} {_ARROW} {type(after.layer).__name__}"
        return
    if before.layer.name != name:
        yield f"{before.layer.name} is now called {name}"
    old, new = _values(before), _values(after)
    for option in sorted(old.keys() | new.keys()):
        if old.get(option) != new.get(option):
            label = after.layer.option(option).label.lower()
            was, is_now = plain_text(old.get(option)), plain_text(new.get(option))
            yield f"{name}: {label} {was} {_ARROW} {is_now}"


def _values(node: Node) -> dict[str, Plain]:
    """Options that answers depend on: how weights begin and are penalised is training's."""
    layer = node.layer
    return {
        option.name: option.plain(layer.option_values[option.name])
        for option in layer.options
        if not isinstance(option.kinds, TextKinds) and option.name not in ("rate", "seed")
    }


def _data(before: DataSettings | None, after: DataSettings | None) -> Iterator[str]:
    if before is None or after is None:
        if before is not after:
            yield "the data was removed" if after is None else "data was attached"
        return
    if before.normalization != after.normalization:
        yield f"normalisation {before.normalization} {_ARROW} {after.normalization}"
    old, new = _plain(before.reference), _plain(after.reference)
    if old.get("source") != new.get("source"):
        yield f"data {_title(old)} {_ARROW} {_title(new)}"
    elif old.get("class_names") != new.get("class_names"):
        yield "classes or their order changed"
    elif old != new:
        yield "data options changed"
    if (before.test_fraction, before.split_seed) != (after.test_fraction, after.split_seed):
        yield "test split changed"
    fixed = [[s.to_json() for s in d.augment if not s.random] for d in (before, after)]
    if fixed[0] != fixed[1]:
        yield "normalisation changed"


def _plain(reference: Mapping[str, object]) -> dict[str, object]:
    return dict(reference)


def _title(reference: Mapping[str, object]) -> str:
    form = FORMS.get(str(reference.get("source")))
    return "?" if form is None else form.title.lower()


def _layers(names: list[str]) -> str:
    return f"{len(names)} layer{'' if len(names) == 1 else 's'}: {_names(names)}"


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
