"""Arrays of other libraries, as PyTorch's: those in memory are seen as numpy's, on a device work is done there."""
