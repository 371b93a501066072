"""What can be done with the window and with files, with its keys."""

from __future__ import annotations

from studio.engine.interop.reading import import_endings
from studio.ui.models.actions import ActionSpec

WORKSPACES = ("build", "train", "profile")
"""The arrangements of the panes, in the order of their keys."""

WORKSPACE_TEXTS = {
    "build": ("Build", "Show what helps to build: palette, inspector, listing and problems."),
    "train": ("Train", "Show what helps to train: runs, plots, testing and data."),
    "profile": ("Profile", "Show what helps to make it fast: profiler, tensor map and listing."),
}

_FILE: tuple[ActionSpec, ...] = (
    ActionSpec(
        "file.new", "New project", "Begin an empty project.",
        ("Ctrl+N",), "File", aliases=("blank", "empty"), group="open",
    ),
    ActionSpec(
        "file.open", "Open…", "Open a project file.",
        ("Ctrl+O",), "File", aliases=("load",), group="open",
    ),
    ActionSpec(
        "file.home", "Welcome page", "Show the examples and the projects you worked on last.",
        (), "File", aliases=("start page", "examples", "recent"), group="open",
    ),
    ActionSpec(
        "file.save", "Save", "Write the project to its file.",
        ("Ctrl+S",), "File", aliases=("write",), group="save",
        needs="project",
    ),
    ActionSpec(
        "file.save_as", "Save as…", "Write the project to another file and go on with that one.",
        ("Ctrl+Shift+S",), "File", aliases=("copy", "rename file"), group="save",
        needs="project",
    ),
    ActionSpec(
        "file.revert", "Revert to the file",
        "Read the project again as it was saved; the steps since then can be undone back.",
        (), "File", aliases=("reload", "discard changes"), group="save",
        needs="project",
    ),
    ActionSpec(
        "file.import", "Import weights…",
        "Bring weights trained elsewhere into the project, as a run of its own.",
        (), "File", aliases=(*(ending[1:] for ending in import_endings()), "load weights"),
        group="import",
        needs="project",
    ),
    ActionSpec(
        "file.close", "Close the project", "Close the project and show the welcome page.",
        ("Ctrl+W",), "File", group="close",
        needs="project",
    ),
    ActionSpec(
        "file.preferences", "Preferences…", "Choose how the studio looks and works.",
        ("Ctrl+,",), "File", aliases=("settings", "options", "configuration"), group="window",
    ),
    ActionSpec(
        "file.quit", "Quit", "Close the window and end the studio.",
        ("Ctrl+Q",), "File", aliases=("exit",), group="window",
    ),
)  # fmt: skip

_FIND: tuple[ActionSpec, ...] = (
    ActionSpec(
        "view.command_palette", "Command palette…",
        "Find anything the studio can do by a few letters of its name.",
        ("Ctrl+Shift+P",), "View", aliases=("commands", "actions", "search"), group="find",
    ),
    ActionSpec(
        "view.go_to", "Go to anything…",
        "Go to a layer, tensor, instruction, run or metric by its name.",
        ("Ctrl+P",), "View", aliases=("find", "jump", "search"), group="find",
    ),
)  # fmt: skip

_WINDOW: tuple[ActionSpec, ...] = (
    *(
        ActionSpec(
            f"workspace.{name}", text, tip, (f"Ctrl+{number}",), "View/Workspace",
            aliases=("layout", "workspace"), checkable=True, group="workspace",
        )
        for number, name in enumerate(WORKSPACES, 1)
        for text, tip in (WORKSPACE_TEXTS[name],)
    ),
    ActionSpec(
        "workspace.reset", "Reset this workspace", "Put the panes of this workspace back.",
        (), "View/Workspace", aliases=("default layout", "restore panes"), group="reset",
    ),
    ActionSpec(
        "workspace.reset_all", "Reset all workspaces", "Put the panes of all workspaces back.",
        (), "View/Workspace", aliases=("default layout", "reset layout"), group="reset",
    ),
    ActionSpec(
        "window.next_pane", "Next pane", "Give the keyboard to the next pane.",
        ("F6", "Ctrl+Tab"), "View/Panes", aliases=("dock", "focus"), group="walk",
    ),
    ActionSpec(
        "window.previous_pane", "Previous pane", "Give the keyboard to the pane before.",
        ("Shift+F6",), "View/Panes", aliases=("dock", "focus"), group="walk",
    ),
    ActionSpec(
        "window.context_menu", "Open the context menu",
        "Open the menu of what has the keyboard, as the menu key does.",
        ("Shift+F10",), "View/Panes", aliases=("right click", "menu key"), group="walk",
    ),
    ActionSpec(
        "window.maximise_pane", "Maximise the pane",
        "Let the pane with the keyboard fill the window, or put everything back.",
        ("Ctrl+Alt+M",), "View", aliases=("zoom pane", "restore"), checkable=True,
        group="window",
        needs="sight",
    ),
    ActionSpec(
        "window.focus_mode", "Focus mode",
        "Hide everything around the canvas, or bring it back.",
        ("Ctrl+Alt+F",), "View", aliases=("distraction free", "hide panes"), checkable=True,
        group="window",
        needs="sight",
    ),
    ActionSpec(
        "window.full_screen", "Full screen", "Let the window fill the screen, or not.",
        ("Ctrl+Shift+F11",), "View", aliases=("fullscreen",), checkable=True, group="window",
    ),
    ActionSpec(
        "window.theme_dark", "Dark", "Light text on dark ground.",
        (), "View/Theme", aliases=("theme", "night"), checkable=True, group="theme",
    ),
    ActionSpec(
        "window.theme_light", "Light", "Dark text on light ground.",
        (), "View/Theme", aliases=("theme", "day"), checkable=True, group="theme",
    ),
    ActionSpec(
        "window.theme_system", "Follow the system", "Dark or light as the system is.",
        (), "View/Theme", aliases=("theme", "automatic"), checkable=True, group="theme",
    ),
    ActionSpec(
        "window.tasks", "Running tasks", "Show what runs in the background, and stop it.",
        (), "View", aliases=("background", "progress", "cancel"), group="status",
    ),
    ActionSpec(
        "window.notices", "Notices", "Show what the studio had to say.",
        (), "View", aliases=("bell", "messages", "errors"), group="status",
    ),
)  # fmt: skip

PAGES = (
    ("guide", "The studio, task by task", "Read how to do things in the studio."),
    ("instructions", "Instructions", "Read about every instruction of the machine."),
    ("projects", "Projects and samples", "Read about project files and those that come along."),
    ("data", "Data sets", "Read about the data Glassbox takes."),
    ("commands", "Command line", "Read about the commands of the terminal."),
    ("architecture", "How Glassbox is built", "Read about the parts and how they meet."),
)
"""Pages of the Help menu: file name, text and tip."""

_HELP: tuple[ActionSpec, ...] = (
    ActionSpec(
        "help.here", "Help on the selection",
        "Read about the layer or instruction that is selected, or about the pane.",
        ("F1",), "Help", aliases=("documentation", "manual", "what is this"), group="keys",
    ),
    ActionSpec(
        "help.keys", "Keys", "Show the keys of the view that has the keyboard.",
        ("?",), "Help", aliases=("all keys", "shortcuts", "cheat sheet"), group="keys",
    ),
    *(
        ActionSpec(
            f"help.{name}", text, tip, (), "Help", aliases=("documentation", "manual"),
            group="pages",
        )
        for name, text, tip in PAGES
    ),
    ActionSpec(
        "help.restart_safe", "Restart safely",
        "Start again with the preferences and layout there are from the start, to see whether "
        "one of yours is the trouble; yours are kept.",
        (), "Help", aliases=("safe mode", "default preferences"), group="about",
    ),
    ActionSpec(
        "help.about", "About Glassbox", "Show the version, the device and where files are kept.",
        (), "Help", aliases=("version",), group="about",
    ),
)  # fmt: skip

ACTIONS: tuple[ActionSpec, ...] = _FILE + _FIND + _WINDOW + _HELP
"""Every action of the window itself."""


def pane_action(pane_id: str, title: str) -> ActionSpec:
    """The action that shows and hides a pane."""
    keys = ("Ctrl+`",) if pane_id == "log" else ()
    return ActionSpec(
        f"pane.{pane_id}", title, f"Show or hide the pane {title}.", keys, "View/Panes",
        aliases=("dock", "pane", "panel"), checkable=True, group="panes",
    )  # fmt: skip
