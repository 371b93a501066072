"""Testing a trained network: answers, measures, and evidence for each."""
