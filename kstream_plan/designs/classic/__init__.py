"""The classic protocol: a leader decides by an assignor, and members hand over in rebalances (KIP-429, KIP-441)."""

from kstream_plan.designs.classic.coordinator import LastDecision
from kstream_plan.designs.classic.design import MODELS, Classic

__all__ = ["MODELS", "Classic", "LastDecision"]
