"""Many trainings of one project whose settings vary: what is tried, where, and what came out."""
