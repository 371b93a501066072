"""Text tables: lines, cells, numbers and labels."""
