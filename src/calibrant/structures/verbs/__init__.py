"""What is asked of taggers and coreference models: train, predict, evaluate."""
