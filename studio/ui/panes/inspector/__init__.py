"""The inspector: options of the selected layers, or totals and settings of the whole project."""
