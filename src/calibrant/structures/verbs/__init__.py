"""Verbs on taggers and coreference models: train, predict, evaluate."""
