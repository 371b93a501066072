"""Actions on the studio, one table a module; a new module is found by itself."""
