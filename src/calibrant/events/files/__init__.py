"""Files of dated documents, lexicons and stores of events."""
