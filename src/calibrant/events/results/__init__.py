"""Records of events and of the explorer."""
