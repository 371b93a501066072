"""Edits of the document's other parts: data, training, notes and names."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.errors import ParameterError
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import MAX_NAME, MAX_NOTES
from studio.engine.train.settings import TrainingSettings
from studio.session.document.frozen_config import FrozenConfig
from studio.session.document.state import DocumentState


def set_data(
    state: DocumentState, data: DataSettings | Mapping[str, object] | None
) -> DocumentState:
    """Choose the data, or none; DataError or ParameterError for settings that are wrong."""
    if data is None:
        return state if state.data is None else state.replaced(data=None)
    settings = data if isinstance(data, DataSettings) else DataSettings.from_json(data)
    made = FrozenConfig(settings.to_json())
    return state if made == state.data else state.replaced(data=made)


def set_training(
    state: DocumentState, changes: TrainingSettings | Mapping[str, object]
) -> DocumentState:
    """Change some training settings, or all; ParameterError for a value that is not allowed."""
    if isinstance(changes, TrainingSettings):
        settings = changes
    else:
        settings = training_of(state).replace(**changes)
    made = FrozenConfig(settings.plain())
    return state if made == state.training else state.replaced(training=made)


def training_of(state: DocumentState) -> TrainingSettings:
    """The training settings as the engine reads them."""
    return TrainingSettings.from_config(state.training)


def data_of(state: DocumentState) -> DataSettings | None:
    """The data settings as the engine reads them."""
    return None if state.data is None else DataSettings.from_json(state.data)


def set_notes(state: DocumentState, text: str) -> DocumentState:
    """Change the user's own text."""
    if len(text) > MAX_NOTES:
        raise ParameterError(f"expected at most {MAX_NOTES} characters", who="notes")
    return state if text == state.notes else state.replaced(notes=text)


def set_name(state: DocumentState, name: str) -> DocumentState:
    """Give the project another name."""
    found = name.strip()
    if not 0 < len(found) <= MAX_NAME or not found.isprintable():
        raise ParameterError(f"expected a name of 1 to {MAX_NAME} characters", who="name")
    return state if found == state.name else state.replaced(name=found)
