"""Rules every program keeps, grouped by what they look at; ``verify`` asks them all."""
