"""The data of the open document: sources, columns, samples, and reading them."""
