"""The classic protocol: a leader decides by an assignor, and members hand over in rebalances (KIP-429, KIP-441)."""

from kstream_plan.model.releases import MODELLED_STREAMS, modelled

#: The releases whose behaviour it has.
MODELS = modelled("Kafka Streams", MODELLED_STREAMS, "classic protocol")
