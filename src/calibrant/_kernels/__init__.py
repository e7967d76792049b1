"""Compiled loops over plain arrays: no classes, no checks, no files."""
