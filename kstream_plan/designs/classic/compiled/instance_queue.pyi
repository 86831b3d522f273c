"""What ``instance_queue`` offers; see there."""

from collections.abc import Sequence

from kstream_plan.assignors.java.priority_queue import Handled

class InstanceQueue:
    def __init__(self, weights: Sequence[int], hashes: Sequence[int], enough: int) -> None: ...
    def replayed(self, counts: Sequence[int], handled: Sequence[Handled]) -> list[int]: ...
