"""KIP-441's draft: learner tasks, and the incremental-rebalancing algorithm (page ``learner-rules``)."""
