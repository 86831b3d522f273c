"""How far behind copies are now, by what the applications' own metrics say of them."""
