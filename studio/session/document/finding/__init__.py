"""Finding layers: outline, search words, walking with the arrow keys, the small map."""
