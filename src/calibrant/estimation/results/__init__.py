"""Records of counts, of what follows from them, and of their correction."""
