"""The page of every answer: words and figures, no width, no markup, no JSON."""
