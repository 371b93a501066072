"""Events, totals and traces of what ran."""
