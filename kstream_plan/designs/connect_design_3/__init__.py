"""Design III of incremental cooperative rebalancing: what is too much is taken away step by step."""
