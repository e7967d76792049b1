"""Compiled loops of bets and decisions."""
