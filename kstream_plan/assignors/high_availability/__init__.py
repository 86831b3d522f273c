"""Kafka Streams' shipped assignor (reference section 4)."""
