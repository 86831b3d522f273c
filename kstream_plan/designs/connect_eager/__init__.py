"""Kafka Connect's eager protocol: everybody stops everything at each rebalance, and all is dealt out again."""
