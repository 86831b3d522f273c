"""The answers as JSON: each document's fields, what they mean, and the schema that follows."""
