"""Commands for whoever changes the studio; none of them is installed with it."""
