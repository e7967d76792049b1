"""What is asked of an evaluation: agree, compare, monitor, protocol."""
