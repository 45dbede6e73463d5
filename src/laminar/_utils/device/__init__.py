"""Arrays of other libraries, as PyTorch's tensors: in memory they are seen as numpy's, on a device work is done there."""
