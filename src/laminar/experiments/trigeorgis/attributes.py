"""Table 2 and Fig. 8: attributes of new images, from layers of eight models."""
