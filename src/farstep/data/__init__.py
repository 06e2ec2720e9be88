"""Data: episodes, windows and the file formats they are read from."""
