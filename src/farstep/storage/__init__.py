"""Storage: atomic files, run directories, fingerprints and tensors."""
