"""The test page: what a trained network gets right and wrong, and what it says about your own."""
