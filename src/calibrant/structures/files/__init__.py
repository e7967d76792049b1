"""Tagged text, documents with entities, posteriors and models in files."""
