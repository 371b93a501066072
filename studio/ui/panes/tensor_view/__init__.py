"""The tensor view: any tensor as picture, bars or number, live while a training runs."""
