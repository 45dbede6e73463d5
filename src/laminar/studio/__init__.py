"""`laminar studio`: a local page to label samples, refit the model and see its layers change."""
