"""Tables and lists of records: columns are data, one item model, one way to set up a view."""
