"""Pages of estimates and of judged systems."""
