"""What ``thread_split`` offers; see there."""

from collections.abc import Sequence

class ThreadSplit:
    def __init__(self, hashes: Sequence[int], threads: int) -> None: ...
    def dealt(
        self, tasks: Sequence[int], reporters: Sequence[int], lags: Sequence[int], load: list[int], as_hash_set: bool
    ) -> list[int]: ...
