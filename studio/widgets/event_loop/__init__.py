"""The event loop of Qt: callbacks of the models, sliced work, garbage collection, stalls."""
