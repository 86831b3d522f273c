"""The classic protocol on arrays, compiled at installation."""
