"""Other words for layers, and what usually follows them: for search and for typed nets."""

from __future__ import annotations

from studio.engine.layers.activation_catalog import FUNCTIONS, activation_of_alias
from studio.engine.layers.catalog import all_layers, layer_class
from studio.session.document.layer_types import is_known


def words_for(type_name: str) -> tuple[str, ...]:
    """Everything a layer is found by: its class name, its default name, other words."""
    if not is_known(type_name):
        return (type_name,)
    known = layer_class(type_name)
    return (type_name, known.default_name(), *known.words)


def type_of_word(word: str) -> str:
    """The layer a word means exactly, in any case; empty when it means none."""
    wanted = word.casefold()
    for cls in all_layers():
        if wanted in (each.casefold() for each in words_for(cls.__name__)):
            return cls.__name__
    return ""


def function_of_word(word: str) -> str:
    """The activation function a word means; empty when it means none."""
    name = activation_of_alias(word.casefold())
    return name if name in FUNCTIONS else ""


def successors(before: str) -> tuple[str, ...]:
    """What usually comes after a layer, most usual first; after the empty name, what begins."""
    named = layer_class(before).followers if is_known(before) else ()
    others = (cls.__name__ for cls in all_layers() if before in cls.follows)
    return (*named, *(name for name in others if name not in named))


def successor_place(before: str, type_name: str) -> int:
    """Place among the usual successors of a layer, from 0; beyond them all when not usual."""
    usual = successors(before)
    return usual.index(type_name) if type_name in usual else len(usual) + 1
