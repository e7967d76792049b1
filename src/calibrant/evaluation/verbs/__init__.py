"""Verbs of the wing evaluation: agree, compare, monitor, protocol."""
