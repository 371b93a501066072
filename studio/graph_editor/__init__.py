"""The canvas and what stands around it: palette, outline, quick add; thin views of the document."""
