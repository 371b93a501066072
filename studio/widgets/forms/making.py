"""Which editor an option gets."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.engine.core.options import AnyOption
from studio.engine.core.options import Editor as EditorName
from studio.widgets.forms.choice_editors import ChoiceEditor, FlagEditor, TextEditor
from studio.widgets.forms.editor import Editor
from studio.widgets.forms.number_editors import (
    NumberEditor,
    NumbersEditor,
    border_editor,
    pair_editor,
)

_PLAIN: dict[EditorName, Callable[[AnyOption, QWidget | None, int], Editor]] = {
    "integer": NumberEditor,
    "number": NumberEditor,
    "flag": FlagEditor,
    "choice": ChoiceEditor,
    "pair": pair_editor,
    "border": border_editor,
    "integers": NumbersEditor,
    "numbers": NumbersEditor,
    "text": TextEditor,
}


def make_editor(option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> Editor:
    """The editor of an option, for a form that stands in ``nesting`` others."""
    make = _PLAIN.get(option.form_editor)
    if make is not None:
        return make(option, parent, nesting)
    # Editors with options of their own hold forms, and forms make editors.
    from studio.widgets.forms.kind_editors import KindsEditor, ListEditor, WeightsEditor

    nested: dict[EditorName, Callable[[AnyOption, QWidget | None, int], Editor]] = {
        "kinds": KindsEditor,
        "list": ListEditor,
        "weights": WeightsEditor,
    }
    return nested[option.form_editor](option, parent, nesting)
