"""Renderers: a plan in, text out; only the command line prints."""
