"""The commands `agree`, `compare`, `monitor` and `protocol`."""
