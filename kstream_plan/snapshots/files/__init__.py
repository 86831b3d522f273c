"""Which files are meant, what they hold, and which of their rows count."""
