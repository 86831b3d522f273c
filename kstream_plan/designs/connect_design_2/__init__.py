"""Design II of incremental cooperative rebalancing: what is lost waits for who may come back."""
