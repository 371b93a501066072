"""What all models need: actions, tasks, schedulers, preferences, notices, the theme."""
