"""Cells at the paper's operating point (section 7), as near as Carillon has them.

One antenna, MCS 9, five iterations, TTIs of 1 ms with a response after 4 ms. LDPC in place of turbo
codes, all symbols but the pilot are the uplink's, and 40 MHz in place of 15, since no FFT here has
1536 points.
"""

from __future__ import annotations

from carillon.config import Loaded, parse_cell

FFT_SIZE = {5: 512, 10: 1024, 20: 2048, 40: 4096}  # by MHz of bandwidth
SUBCARRIERS = {5: 300, 10: 600, 20: 1200, 40: 2400}
LOADED, LIGHT = 25, 1  # resource blocks
SPACINGS = (15, 30, 60)  # kHz: TTIs of 1, 0.5 and 0.25 ms

_CELL = """
name: {name}
antennas: 1
users: 1
numerology: {{fft_size: {fft}, subcarriers: {subcarriers}, spacing_khz: {spacing}}}
schedule: PUUUUUUUUUUUUU
symbols_per_slot: 14
uplink: {{mcs_table: 64qam, mcs_index: 9, iterations: 5, early_stop: false}}
grants:
  kind: list
  list: [{{user: 0, slot: 0, blocks: {blocks}}}]
deadlines: {{uplink_budget_ms: {budget:g}}}
radio: {{snr_db: 25}}
fronthaul: {{kind: shm}}
"""


def operating_point(mhz: int, blocks: int) -> Loaded:
    """So many MHz of bandwidth, of which so many resource blocks are granted."""
    return _cell(f"lte-{mhz}mhz-{blocks}rb", mhz, blocks, 15)


def short_ttis(mhz: int, spacing: int) -> Loaded:
    """The same with the spacing in kHz of another numerology: TTIs of 15 / spacing ms, a response
    after four of them, and half of the band granted."""
    blocks = SUBCARRIERS[mhz] * 15 // spacing // 12 // 2
    return _cell(f"{mhz}mhz-{spacing}khz-{blocks}rb", mhz, blocks, spacing)


def _cell(name: str, mhz: int, blocks: int, spacing: int) -> Loaded:
    text = _CELL.format(
        name=name, blocks=blocks, spacing=spacing, budget=4 * 15 / spacing,
        fft=FFT_SIZE[mhz] * 15 // spacing, subcarriers=SUBCARRIERS[mhz] * 15 // spacing // 12 * 12,
    )  # fmt: skip
    return parse_cell(text, name)
