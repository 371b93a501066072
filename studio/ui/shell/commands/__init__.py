"""Actions as Qt shows them: menus, the palette of commands, search."""
