"""The version of this program, as it is released (CHANGELOG)."""

__version__ = "0.1.0"
