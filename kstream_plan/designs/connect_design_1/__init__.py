"""Design I of incremental cooperative rebalancing: imbalance is resolved at once."""
