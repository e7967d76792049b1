"""Dated documents, lexicons, and stores of events."""
