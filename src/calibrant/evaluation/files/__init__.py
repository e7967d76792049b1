"""Tables of labels and results, the file of a protocol, and tables with times."""
