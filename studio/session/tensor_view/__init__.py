"""What a view of a tensor shows: slice, layout, colours, picture, pointing."""
