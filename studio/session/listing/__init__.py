"""What the views of a program show, without Qt: rows, order, folding, differences, memory."""
