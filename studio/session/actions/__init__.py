"""Actions on the studio, one table in each module; tables are found by themselves."""
