"""Forms: an editor for every kind of declared option, aligned rows, refusals in place."""
