"""Compiled loops over sequences, spans and mentions."""
