"""Which icon stands for which action, where one helps to find it."""

from __future__ import annotations

ACTION_ICONS: dict[str, str] = {
    "file.new": "new",
    "file.open": "open",
    "file.save": "save",
    "file.save_as": "save-as",
    "file.revert": "revert",
    "file.close": "close",
    "file.import": "import",
    "file.export": "export",
    "file.preferences": "settings",
    "file.quit": "quit",
    "edit.undo": "undo",
    "edit.redo": "redo",
    "edit.cut": "cut",
    "edit.copy": "copy",
    "edit.paste": "paste",
    "edit.delete": "delete",
    "edit.duplicate": "duplicate",
    "go.anything": "search",
    "view.command_palette": "command",
    "help.keys": "keyboard",
    "view.home": "home",
    "train.start": "play",
    "train.pause": "pause",
    "train.step_batch": "step-batch",
    "train.step_epoch": "step-epoch",
    "train.stop": "stop",
    "train.continue": "play",
    "train.reset": "revert",
    "train.test": "testing",
    "plots.follow": "fit",
    "plots.copy": "copy",
    "plots.export_csv": "export",
}
"""Action id to the name of a shape."""
