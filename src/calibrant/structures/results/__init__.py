"""Records of taggers and of coreference."""
