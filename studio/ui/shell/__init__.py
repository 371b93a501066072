"""The window: application, docks, dialogs, and what only exists where there is a screen."""
