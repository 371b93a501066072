"""Fields for numbers: drag to change, type an expression."""
