"""The desktop studio: Qt-free models, a small widget kit, panes, and the shell that joins them."""
