"""Kafka Connect: workers that share connectors and their tasks (connect rules)."""
