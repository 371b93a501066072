"""What surrounds the content of a pane: header, faded edges, what stands in an empty one."""
