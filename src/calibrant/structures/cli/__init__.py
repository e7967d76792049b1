"""The commands `tag` and `coref`."""
