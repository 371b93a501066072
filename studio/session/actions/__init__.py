"""Actions that need no pane: one table in each module, found by its place in this package.

The classes of tables are in `studio.session.core.action_table`.
"""
