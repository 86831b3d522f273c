"""What several commands do with what they are asked."""
