"""The version, which files and pages name."""

__version__ = "0.1.0rc2"
