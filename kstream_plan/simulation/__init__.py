"""Many plans for one question: scale-outs, drains, scenarios, what-ifs and cures."""
