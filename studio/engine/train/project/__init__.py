"""The project file: its settings, the data and plugins it names, and the task they make."""
