"""What a core takes at a clock: a model, not a measurement.

Of a core that computes: a dynamic part that goes with f·V² and a static one that goes with V. A
core that waits has its clock gated and keeps the static part and a share of the dynamic one; one
that sleeps keeps a share of the static part, and pays for waking. V over f is the table that Intel
published of the Pentium M (white paper 301170, Enhanced Intel SpeedStep Technology, 2004, table 2),
with both relative to the highest: 600 to 1600 MHz, 0.956 to 1.484 V. All powers are relative to a
core that computes at the highest clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

_CLOCKS = np.array([600.0, 800.0, 1000.0, 1200.0, 1400.0, 1600.0]) / 1600
_VOLTS = np.array([0.956, 1.036, 1.164, 1.276, 1.420, 1.484]) / 1.484


@dataclass(frozen=True)
class PowerModel:
    """Assumed, but for the voltages; a study varies each by 30 % either way."""

    static: float = 0.3  # of a computing core's power at the highest clock; the rest is dynamic
    waiting: float = 0.2  # of the dynamic power, of a core that waits
    asleep: float = 0.1  # of the static power, of a core that sleeps
    wake_us: float = 100.0  # at full power, of a core that slept
    swing: float = 1.0  # how far voltages fall with the clock; 1: as published

    def volts(self, clock: float, highest: float) -> float:
        """Of the voltage at the highest clock; below the table as at its end."""
        published = float(np.interp(clock / highest, _CLOCKS, _VOLTS))
        return max(1 - self.swing * (1 - published), 0.5)

    def computing(self, clock: float, highest: float) -> float:
        """Power."""
        volts = self.volts(clock, highest)
        return self.static * volts + (1 - self.static) * clock / highest * volts**2

    def idle(self, clock: float, highest: float) -> float:
        """Power of a core that waits at a clock."""
        volts = self.volts(clock, highest)
        dynamic = (1 - self.static) * clock / highest * volts**2
        return self.static * volts + self.waiting * dynamic

    @property
    def sleeping(self) -> float:
        """Power of a core that sleeps."""
        return self.asleep * self.static

    def at_clocks(
        self, clocks: Sequence[float], time_s: Sequence[float], busy_s: Sequence[float]
    ) -> float:
        """Energy of a core that was so long at each clock, and computed for so long of that: in
        seconds of a core that computes at the highest clock."""
        highest = clocks[-1]
        return sum(
            busy * self.computing(clock, highest) + max(time - busy, 0) * self.idle(clock, highest)
            for clock, time, busy in zip(clocks, time_s, busy_s, strict=True)
        )

    def racing(self, time_s: float, busy_s: float, wakes: int) -> float:
        """The same of a core that computes at the highest clock and sleeps in between."""
        waking = wakes * self.wake_us * 1e-6
        asleep = max(time_s - busy_s - waking, 0)
        return busy_s + min(waking, max(time_s - busy_s, 0)) + asleep * self.sleeping


def varied(model: PowerModel, by: float = 0.3) -> Iterator[tuple[str, PowerModel]]:
    """The model, and with each parameter less and more by a share."""
    yield "as assumed", model
    for field in fields(model):
        for factor in (1 - by, 1 + by):
            value = getattr(model, field.name) * factor
            yield f"{field.name} × {factor:g}", replace(model, **{field.name: value})
