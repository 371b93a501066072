"""Matrix products over threads, and dense layers."""
