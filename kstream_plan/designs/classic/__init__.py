"""The classic protocol: a leader decides by an assignor, and members hand over in rebalances (KIP-429, KIP-441)."""

#: The releases whose behaviour it has.
MODELS = "Kafka Streams 3.9-4.3, classic protocol"
