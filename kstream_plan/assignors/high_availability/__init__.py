"""Kafka Streams' shipped ``HighAvailabilityTaskAssignor``."""
