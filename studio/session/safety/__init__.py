"""What survives a failure: journals, autosaves, locks, crash reports."""
