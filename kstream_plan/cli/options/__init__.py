"""What can be asked of the commands, declared once."""
