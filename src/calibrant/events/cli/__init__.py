"""The commands `events` and `explore`."""
