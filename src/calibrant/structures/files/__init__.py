"""Files of tagged text, documents with entities, posteriors and models."""
