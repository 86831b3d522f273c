"""What all texts share: names, numbers, lines and pages."""
