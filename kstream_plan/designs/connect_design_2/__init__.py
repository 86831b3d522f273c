"""Design II of incremental cooperative rebalancing: lost work waits for workers that may come back."""
