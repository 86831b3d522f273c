"""Kafka Connect: workers that share connectors and their tasks (page ``connect-rules``)."""
