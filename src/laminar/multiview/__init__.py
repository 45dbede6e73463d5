"""Models of several views of the same samples."""
