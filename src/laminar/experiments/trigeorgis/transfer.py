"""Fig. 7: pre-training on labelled faces, clusters of others."""
