"""Sections of options that are shown, folded and changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.session.inspector.sections import OptionSection
from studio.widgets.forms.form import Form, TakeValue
from studio.widgets.forms.section import Section


class SectionsView(QWidget):
    """Sections one below the other; which of them are folded is kept by their titles.

    Args:
        take: takes what the user settled on.
        reset: takes the default of an option again.
        parent: the widget it stands in.
    """

    def __init__(
        self, take: TakeValue, reset: Callable[[str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._take = take
        self._reset = reset
        self._sections: dict[str, tuple[Section, Form]] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that are shown."""
        return tuple(form for section, form in self._sections.values() if not section.isHidden())

    def section(self, title: str) -> Section:
        """The section of a title; KeyError where there is none."""
        return self._sections[title][0]

    def show_sections(self, sections: Sequence[OptionSection]) -> None:
        """Show these sections, in their order."""
        wanted = {each.title: each for each in sections}
        for title, (section, _) in self._sections.items():
            section.setVisible(title in wanted)
        for place, each in enumerate(sections):
            if each.title not in self._sections:
                self._add(each, place)
            section, form = self._sections[each.title]
            form.show_rows(each.rows)
            section.set_note(f"{each.changed} changed" if each.changed else "")

    def clear_error(self) -> None:
        """Say no more what was refused."""
        for _, form in self._sections.values():
            form.clear_error()

    def _add(self, each: OptionSection, place: int) -> None:
        form = Form(self._take, self._reset)
        section = Section(each.title, form, is_open=each.is_open, parent=self)
        self._sections[each.title] = (section, form)
        self._column.insertWidget(place, section)
