"""Look-ups over all layer classes. A layer registers itself; nothing is added here."""

from __future__ import annotations

from studio.engine.layers.layer import Layer


def layer_class(name: object) -> type[Layer]:
    """The layer of that Keras name; ParameterError, with the names there are, for another."""
    return Layer.member(name)


def all_layers() -> tuple[type[Layer], ...]:
    """Every layer class, in palette order: by category, then by ``order``."""
    return tuple(cls for cls in Layer.members.values() if issubclass(cls, Layer))
