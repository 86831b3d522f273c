"""Plans as people use them: made and then checked, drawn, varied, played with."""
