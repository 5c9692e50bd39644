"""Which tests need carillond, and how they are marked."""

import pytest
from carillon.daemon import RunError, binary


def has_daemon() -> bool:
    """Whether it is built."""
    try:
        return binary().is_file()
    except RunError:
        return False


RUNS = [
    pytest.mark.slow,
    pytest.mark.realtime,
    pytest.mark.skipif(not has_daemon(), reason="carillond is not built"),
]
