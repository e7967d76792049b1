"""The papers' experiments: each a function from data to a record, "paper" beside "here"."""
