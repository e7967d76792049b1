"""The page of judged systems."""
