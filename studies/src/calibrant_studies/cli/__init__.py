"""The commands that this distribution adds to calibrant: `calibrant study` and `calibrant data`."""
