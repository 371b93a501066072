"""What all models need: actions, tasks, schedulers, preferences, texts of numbers, the theme."""
