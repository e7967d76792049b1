"""What is asked of events: extract, count, draw, show the uncertain ones."""
