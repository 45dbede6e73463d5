"""Tables of layers against attributes, and choosing the sizes of layers."""
