"""The version of this program: of the next release while it is being made (CHANGELOG)."""

__version__ = "0.2.0.dev0"
