// weights_each, term r: its weight, where EACH terms have one.
float term(int r) { return weights(r / EACH); }
