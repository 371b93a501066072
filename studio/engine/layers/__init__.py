"""The layer catalogue (Keras names); each layer lowers to instructions."""
