"""What files of models mean: a class for each form that can be exported or imported."""
