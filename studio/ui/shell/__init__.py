"""The main window: docks, bars, dialogs, commands, files, and how the application starts."""
