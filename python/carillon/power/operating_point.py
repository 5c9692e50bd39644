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

_CELL = """
name: lte-{mhz}mhz-{blocks}rb
antennas: 1
users: 1
numerology: {{fft_size: {fft}, subcarriers: {subcarriers}}}
schedule: PUUUUUUUUUUUUU
symbols_per_slot: 14
uplink: {{mcs_table: 64qam, mcs_index: 9, iterations: 5, early_stop: false}}
grants:
  kind: list
  list: [{{user: 0, slot: 0, blocks: {blocks}}}]
deadlines: {{uplink_budget_ms: 4}}
radio: {{snr_db: 25}}
fronthaul: {{kind: shm}}
"""


def operating_point(mhz: int, blocks: int) -> Loaded:
    """So many MHz of bandwidth, of which so many resource blocks are granted."""
    text = _CELL.format(mhz=mhz, blocks=blocks, fft=FFT_SIZE[mhz], subcarriers=SUBCARRIERS[mhz])
    return parse_cell(text, f"lte-{mhz}mhz-{blocks}rb")
