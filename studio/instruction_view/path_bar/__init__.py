"""The bar that shows where the selected line comes from."""
