"""The compiled program of the open document, its problems, and who wrote each line."""
