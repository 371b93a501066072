"""The instruction set, declared once; text and binary forms and the manual."""
