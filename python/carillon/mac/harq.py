"""HARQ processes of a user's uplink: what is under way in each, and what is to be sent again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from carillon.mac.link_adaptation import Row

VERSIONS = (0, 2, 3, 1)  # redundancy versions, by attempt


@dataclass(frozen=True)
class Attempt:
    """A block that is sent for the `number`-th time, from 0; what is sent again has the same row,
    and as many resource blocks of as many elements."""

    row: Row
    blocks: int
    elements: int
    bits: bytes = b""
    number: int = 0

    @property
    def version(self) -> int:
        return VERSIONS[self.number]

    @property
    def is_last(self) -> bool:
        return self.number + 1 == len(VERSIONS)


@dataclass
class Processes:
    """Each is free, has a block under way, or one that failed and waits to be sent again."""

    count: int
    _free: deque[int] = field(init=False)
    _under_way: dict[int, Attempt] = field(default_factory=dict)
    _failed: deque[tuple[int, Attempt]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._free = deque(range(self.count))

    @property
    def any_free(self) -> bool:
        return bool(self._free)

    @property
    def waiting(self) -> int:
        """Blocks that are to be sent again."""
        return len(self._failed)

    def begin(self, attempt: Attempt) -> int:
        """The process in which a block is sent; there is a free one."""
        process = self._free.popleft()
        self._under_way[process] = attempt
        return process

    def again(self, elements: int, blocks: int) -> tuple[int, Attempt] | None:
        """What failed first of that which fits into a slot with so many resource blocks left."""
        for place, (process, attempt) in enumerate(self._failed):
            if attempt.elements == elements and attempt.blocks <= blocks:
                del self._failed[place]
                self._under_way[process] = attempt
                return process, attempt
        return None

    def under_way(self, process: int) -> Attempt | None:
        return self._under_way.get(process)

    def filled(self, process: int, bits: bytes) -> None:
        """What a block carries that is sent for the first time."""
        self._under_way[process] = replace(self._under_way[process], bits=bits)

    def failed(self, process: int) -> bool:
        """Whether it is to be sent again; else the process is free, and what it carried lost."""
        attempt = self._under_way.pop(process)
        if attempt.is_last or not attempt.bits:
            self._free.append(process)
            return False
        self._failed.append((process, replace(attempt, number=attempt.number + 1)))
        return True

    def late(self, process: int) -> None:
        """Nothing was decoded: the same attempt is to be made once more."""
        self._failed.append((process, self._under_way.pop(process)))

    def over(self, process: int) -> None:
        """It was received, or given up."""
        if self._under_way.pop(process, None) is not None:
            self._free.append(process)
