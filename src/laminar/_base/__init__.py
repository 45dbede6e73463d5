"""The scikit-learn half of every estimator."""
