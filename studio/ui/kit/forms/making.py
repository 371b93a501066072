"""Which editor an option gets."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from studio.engine.core.options import Editor as EditorName
from studio.ui.kit.forms.choice_editors import ChoiceEditor, FlagEditor, TextEditor
from studio.ui.kit.forms.editor import Editor
from studio.ui.kit.forms.number_editors import (
    NumberEditor,
    NumbersEditor,
    border_editor,
    pair_editor,
)
from studio.ui.models.option_fields import Field

_PLAIN: dict[EditorName, Callable[[Field, QWidget | None, int], Editor]] = {
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


def make_editor(field: Field, parent: QWidget | None = None, nesting: int = 0) -> Editor:
    """The editor of an option, for a form that stands in ``nesting`` others."""
    make = _PLAIN.get(field.editor)
    if make is not None:
        return make(field, parent, nesting)
    # Editors with options of their own hold forms, and forms make editors.
    from studio.ui.kit.forms.variant_editors import ListEditor, VariantsEditor, WeightsEditor

    nested: dict[EditorName, Callable[[Field, QWidget | None, int], Editor]] = {
        "variants": VariantsEditor,
        "list": ListEditor,
        "weights": WeightsEditor,
    }
    return nested[field.editor](field, parent, nesting)
