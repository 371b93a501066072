"""A portable folder of Glassbox: PyInstaller's recipe and the program it packs."""
