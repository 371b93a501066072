"""Plugins: layers, losses, formats, panes and the like from outside Glassbox.

A plugin is an installed package with an entry point in the group ``glassbox.plugins``, or a ``.py``
file in the folder ``plugins`` of the user's configuration. Its classes register themselves as those
of Glassbox do, when the plugin's module is imported; that happens only once the user has switched
the plugin on. None may replace what Glassbox has.
"""
