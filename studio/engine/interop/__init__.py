"""Files of models: which weights or program each format holds, under which names and layouts.

One class per format that can be exported or imported. How the bytes are laid out is in
`studio.engine.formats`.
"""
