"""Sections of options that are shown, folded and changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from studio.engine.core.options import Plain
from studio.session.inspector.sections import OptionGroup, OptionSection
from studio.session.studio import Studio
from studio.widgets import theme
from studio.widgets.forms.form import Form, TakeValue, Varying
from studio.widgets.forms.section import Section
from studio.widgets.labels.elided_label import ElidedLabel

TakeOfGroup = Callable[[str, str, Plain, str], None]
"""Takes title of the group, option, value and merge key; raises StudioError to refuse."""

ResetOfGroup = Callable[[str, str], None]
"""Takes title of the group and the option that gets its default again."""


def _no_group(group: str, *_: object) -> None:
    raise TypeError(f"there are no groups here, got {group}")


class SectionsView(QWidget):
    """Sections one below the other; which of them are folded is kept by their titles.

    Args:
        take: takes what the user settled on.
        reset: takes the default of an option again.
        parent: the widget it stands in.
        take_of_group: takes it for an option in a group of a section.
        reset_of_group: takes the default of such an option again.
        varying: lets options be varied by sweeps, those of groups excepted.
    """

    def __init__(
        self,
        take: TakeValue,
        reset: Callable[[str], None],
        parent: QWidget | None = None,
        *,
        take_of_group: TakeOfGroup = _no_group,
        reset_of_group: ResetOfGroup = _no_group,
        varying: Varying | None = None,
    ) -> None:
        super().__init__(parent)
        self._varying = varying
        self._take = take
        self._reset = reset
        self._of_group = (take_of_group, reset_of_group)
        self._sections: dict[str, tuple[Section, _Body]] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that are shown."""
        shown = [body for section, body in self._sections.values() if not section.isHidden()]
        return tuple(form for body in shown for form in (body.form, *body.groups.values()))

    def groups(self, title: str) -> dict[str, Form]:
        """The form of each group of a section, by title; KeyError where there is no section."""
        return self._sections[title][1].groups

    def section(self, title: str) -> Section:
        """The section of a title; KeyError where there is none."""
        return self._sections[title][0]

    def show_sections(self, sections: Sequence[OptionSection]) -> None:
        """Show these sections, in their order."""
        wanted = {each.title: each for each in sections}
        for title, (section, _) in self._sections.items():
            section.setVisible(title in wanted)
        above = -1
        for each in sections:
            if each.title not in self._sections:
                # Behind the one above it: hidden sections may stand between.
                self._add(each, above + 1)
            section, body = self._sections[each.title]
            above = self._column.indexOf(section)
            body.form.show_rows(each.rows)
            body.show_groups(each.groups)
            section.set_note(f"{each.changed} changed" if each.changed else "")
        self.show_varied()

    def show_varied(self) -> None:
        """Mark the options that are varied by the next sweep."""
        for _, body in self._sections.values():
            body.form.show_varied()

    def clear_error(self) -> None:
        """Say no more what was refused."""
        for _, body in self._sections.values():
            for form in (body.form, *body.groups.values()):
                form.clear_error()

    def _add(self, each: OptionSection, place: int) -> None:
        form = Form(self._take, self._reset, varying=self._varying)
        body = _Body(form, *self._of_group)
        section = Section(each.title, body, is_open=each.is_open, parent=self)
        self._sections[each.title] = (section, body)
        self._column.insertWidget(place, section)


class _Body(QWidget):
    """The options of a section, and below them its groups."""

    def __init__(self, form: Form, take: TakeOfGroup, reset: ResetOfGroup) -> None:
        super().__init__()
        self.form = form
        self.groups: dict[str, Form] = {}
        self._take = take
        self._reset = reset
        self._parts: dict[str, QWidget] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._column.addWidget(form)

    def show_groups(self, groups: Sequence[OptionGroup]) -> None:
        """Show these groups, in their order."""
        if list(self.groups) != [each.title for each in groups]:
            self._rebuild(groups)
        self.form.setVisible(bool(self.form.rows))
        for each in groups:
            self.groups[each.title].show_rows(each.rows)

    def _rebuild(self, groups: Sequence[OptionGroup]) -> None:
        """Make these groups; those of before that are among them are kept, with what is typed."""
        before, self.groups = self.groups, {}
        for title in before.keys() - {each.title for each in groups}:
            part = self._parts.pop(title)
            self._column.removeWidget(part)
            part.hide()
            part.deleteLater()
        for place, each in enumerate(groups, 1):
            if each.title in before:
                self.groups[each.title] = before[each.title]
            else:
                part, self.groups[each.title] = self._made(each.title, each.heading)
                self._parts[each.title] = part
            self._column.removeWidget(self._parts[each.title])
            self._column.insertWidget(place, self._parts[each.title])

    def _made(self, title: str, text: str) -> tuple[QWidget, Form]:
        part = QWidget(self)
        part.setObjectName(f"group_{title}")
        part.setAccessibleName(text)
        heading = ElidedLabel(part)
        heading.set_text(text)
        heading.setFont(theme.font("title"))
        form = Form(
            lambda name, value, key: self._take(title, name, value, key),
            lambda name: self._reset(title, name),
            part,
            about=text[:1].lower() + text[1:],
        )
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(heading)
        column.addWidget(form)
        return part, form


def show_sweep(studio: Studio) -> None:
    """Bring the plan of the next sweep into view."""
    studio.sweeps.plan_next()
    if "pane.sweeps" in studio.actions and not studio.actions.is_checked("pane.sweeps"):
        studio.actions.trigger("pane.sweeps")


def scrolled(body: QWidget) -> QScrollArea:
    """What may be higher than the pane, never wider."""
    holder = QWidget()
    holder.setBackgroundRole(QPalette.ColorRole.Base)
    column = QVBoxLayout(holder)
    column.setContentsMargins(8, 8, 8, 8)
    column.addWidget(body)
    column.addStretch(1)
    area = QScrollArea()
    area.setWidget(holder)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
