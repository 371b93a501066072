"""Dialogs of imports: how far one is, its report, and the table of weights."""
