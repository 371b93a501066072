"""Data larger than its budget on the device: the plan of shards, and their stream."""
