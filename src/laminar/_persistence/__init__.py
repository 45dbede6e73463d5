"""Model files: estimators as arrays and JSON in one safetensors file, read without running any code of the file."""
