"""What Millipede's stages cost, as published: so that its equations can be asked again.

J. Ding, "Software-based Baseband Processing for Massive MIMO", the Millipede thesis. Not all of it
is published. Where a cost is not, it is fitted to a published latency or derived, and said so.
"""

from __future__ import annotations

from carillon import cells
from carillon.config import Cell
from carillon.models.costs import Costs, StageCost

SUBCARRIERS, TILE = 1200, 16
USERS = 8
LINK_GBPS = 40.0  # §5.1; tRX of eq. 3.1 is a symbol's packets at this rate

# §5.3.2: 2047 µs on 15 cores are a speed-up of 14.42. 29.5 ms, 24.6 µs for each subcarrier.
ZERO_FORCE_MS_8X8 = 14.42 * 2.047

# Agora's public log (Millipede's successor), 8×8: µs of one antenna's symbol.
FFT_US = 11.2
PILOT_US = 29.6  # with channel estimation
# µs of a subcarrier and data symbol: equalization and demodulation at 8×8.
DEMODULATE_US_8X8 = 0.217

# Fitted at 16×8 on 20 cores, where the thesis gives three latencies: T_ZF so that earliest-frame
# has D_DL = 2.667 ms, demodulation so that core-groups have D_UL = 8.199 ms.
ZERO_FORCE_MS_16X8 = 42.03
DEMODULATE_US_16X8 = 0.2545

# §5.3.2: zero-forcing reached 14.42 of 15 cores and 6.96 of 7, which is 79 and 24 µs of T_ZF. As n
# cores that claim 1200 jobs from one queue cost each other c·(n-1) a claim, c is 49 ns by least
# squares, and the speed-ups 14.6 and 6.92.
CONTENTION_NS = 49.0


def costs(antennas: int) -> Costs:
    """The thesis's costs at K = 8 users; no LDPC, which it did not have.

    FFTs do not depend on the number of antennas (§5.4.2). A tile is 16 subcarriers; a job of
    zero-forcing is one of them, one of demodulation is "m", of which 16 is assumed.
    """
    demodulate = _demodulate_us(antennas)
    nothing = dict.fromkeys(("Decode", "Store", "Encode", "Modulate"), StageCost(0.0))
    return Costs(
        f"Millipede, {antennas}×{USERS}",
        {
            "PilotFft": StageCost(PILOT_US * 1e3),
            "UplinkFft": StageCost(FFT_US * 1e3),
            "ZeroForce": StageCost(
                _zero_force_ms(antennas) * 1e6 / SUBCARRIERS * TILE, grain=1 / TILE
            ),
            "EqualizeDemodulate": StageCost(demodulate * 1e3 * TILE),
            "Precode": StageCost(_per_antenna_us() * antennas * 1e3 * TILE),
            "Ifft": StageCost(FFT_US * 1e3),
        }
        | nothing,
        contention_ns=CONTENTION_NS,
    )


def _zero_force_ms(antennas: int) -> float:
    """T_ZF(1). As published at 8 antennas, as fitted at 16, and beyond that by the operations of a
    pseudo-inverse from 8 antennas on: the thesis calls 16 abnormal (§5.4.2), as MKL vectorises 15
    to 20 antennas badly."""
    if antennas == 16:
        return ZERO_FORCE_MS_16X8
    return ZERO_FORCE_MS_8X8 * pinv_operations(antennas, USERS) / pinv_operations(8, USERS)


def pinv_operations(antennas: int, users: int) -> float:
    """Operations of a pseudo-inverse by singular values, up to a factor: 6MK² + 20K³ for U, S and V
    (Golub and Van Loan, Matrix Computations, R-SVD), 2MK² for their product."""
    return 8 * antennas * users**2 + 20 * users**3


def _demodulate_us(antennas: int) -> float:
    """A line through 8 and 16 antennas: the product with the combiner grows with the antennas, what
    it yields, K users' symbols to demodulate, does not."""
    return DEMODULATE_US_8X8 + _per_antenna_us() * (antennas - 8)


def _per_antenna_us() -> float:
    """Also precoding's: the same product, transposed. The thesis gives no cost for it."""
    return (DEMODULATE_US_16X8 - DEMODULATE_US_8X8) / 8


def uplink_cell(antennas: int) -> Cell:
    """The thesis's uplink: 5 ms of 8 pilot and 62 uplink symbols, a combiner per subcarrier."""
    known = cells.load("thesis-16x8").cell
    return known.model_copy(
        update={
            "name": f"thesis-{antennas}x{USERS}",
            "antennas": antennas,
            "combiner": known.combiner.model_copy(update={"group": 1}),
        }
    )


def downlink_cell(antennas: int) -> Cell:
    """The thesis's downlink: 8 pilot symbols, then downlink symbols that wait for the precoder.

    A guard symbol stands where the thesis has its first downlink symbol, which nobody could make in
    time.
    """
    known = uplink_cell(antennas)
    return known.model_copy(
        update={
            "name": f"{known.name}-downlink",
            "schedule": "P" * 8 + "G" + "D" * 61,
            "downlink": known.uplink,
            "deadlines": known.deadlines.model_copy(update={"downlink_lead_ms": 0.0}),
        }
    )
