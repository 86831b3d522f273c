"""Offline planner for Kafka Streams task assignment."""

__version__ = "0.1.0"
