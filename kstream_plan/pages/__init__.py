"""The pages about the tool: their texts, in sections, and the search for the one that answers."""
