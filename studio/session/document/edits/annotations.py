"""Edits of what a person wrote on the listing: names for tensors, comments on instructions."""

from __future__ import annotations

from studio.engine.core.errors import ParameterError
from studio.engine.train.project.annotations import (
    MAX_ENTRIES,
    MAX_KEY,
    Annotations,
    annotations_from_json,
    check_alias,
    check_comment,
)
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import DocumentState


def annotations_of(state: DocumentState) -> Annotations:
    """The names and comments of a document."""
    return annotations_from_json(state.annotations)


def name_tensor(state: DocumentState, key: str, text: str) -> DocumentState:
    """Call a tensor something, or with an empty text by its own name again.

    Raises:
        ParameterError: a name that is not allowed, or that another tensor has.
    """
    found = annotations_of(state)
    alias = text.strip()
    others = {each: name for each, name in found.aliases.items() if each != key}
    if alias:
        check_alias(alias)
        owner = next((each for each, name in others.items() if name == alias), "")
        if owner:
            raise ParameterError(f"{owner} is already called {alias!r}", who="name")
        others[key] = alias
    return _with(state, Annotations(_bounded(others, key), found.comments))


def comment_instruction(state: DocumentState, key: str, text: str) -> DocumentState:
    """Say something of an instruction, or with an empty text nothing; ParameterError."""
    found = annotations_of(state)
    others = {each: said for each, said in found.comments.items() if each != key}
    if text.strip():
        others[key] = check_comment(text.strip())
    return _with(state, Annotations(found.aliases, _bounded(others, key)))


def with_layer_renamed(state: DocumentState, before: str, after: str) -> DocumentState:
    """Let names of tensors follow their layer, which tensors are named after."""
    if not state.annotations or before == after:
        return state
    found, stem = annotations_of(state), f"{before}/"
    aliases = {
        f"{after}/{key.removeprefix(stem)}" if key.startswith(stem) else key: alias
        for key, alias in found.aliases.items()
    }
    return _with(state, Annotations(aliases, found.comments))


def _with(state: DocumentState, annotations: Annotations) -> DocumentState:
    made = FrozenConfig(annotations.to_json())
    return state if made == state.annotations else state.replaced(annotations=made)


def _bounded(texts: dict[str, str], key: str) -> dict[str, str]:
    if len(texts) > MAX_ENTRIES or len(key) > MAX_KEY:
        raise ParameterError(f"a project holds at most {MAX_ENTRIES} of them", who="annotations")
    return texts
