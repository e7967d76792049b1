"""Records of agreement, scores, tests, monitoring and the protocol."""
