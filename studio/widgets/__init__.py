"""Widgets and helpers every view shares: theme, icons, bindings, fields, frames, menus."""
