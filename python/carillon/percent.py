"""Shares as people read them."""


def percent(share: float, digits: int = 0, sign: str = "-") -> str:
    """0.124 is 12 %; with sign "+" it is +12 %."""
    return f"{100 * share:{sign}.{digits}f} %"
