"""Verbs on events: extract, count, draw, and list uncertain documents."""
