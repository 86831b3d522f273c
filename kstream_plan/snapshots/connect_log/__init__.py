"""Logs of Kafka Connect's workers → rows of their group, one for each generation."""
