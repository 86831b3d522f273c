"""Renderers: a plan in, text out; only the command line prints."""

#: How wide a table is, in columns, unless it is told otherwise.
DEFAULT_WIDTH = 80
