"""Kernels against NumPy and SciPy in double precision, every instruction set; plans and figures."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy_reference as reference
import pytest
import scipy.fft
import scipy.linalg
from carillon import core
from carillon.config import Run, load_cell
from carillon.config.plan import plan_text

CELLS = Path(__file__).resolve().parents[2] / "examples" / "cells"


@pytest.fixture(params=core.available_isas())
def isa(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1)


def normal(random: np.random.Generator, *shape: int) -> reference.Values:
    parts = random.standard_normal((2, *shape)) * np.sqrt(0.5)
    return np.asarray(parts[0] + 1j * parts[1])


def bins(fft_size: int, subcarriers: int, dc_hole: bool) -> np.ndarray[Any, Any]:
    frequency = np.arange(subcarriers) - subcarriers // 2
    return (frequency + (dc_hole & (frequency >= 0))) % fft_size


def plan(name: str, **changes: str) -> str:
    """An example cell's plan, with lines changed: `cell__ring="8"`."""
    lines = plan_text(load_cell(CELLS / f"{name}.yaml").cell, Run()).splitlines()
    for key, value in changes.items():
        dotted = key.replace("__", ".")
        lines = [line for line in lines if not line.startswith(f"{dotted} =")]
        lines.append(f"{dotted} = {value}")
    return "\n".join(lines)


@pytest.mark.parametrize("fft_size", [128, 256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize("dc_hole", [False, True])
def test_receive_is_the_unitary_transform(
    isa: str, random: np.random.Generator, fft_size: int, dc_hole: bool
) -> None:
    used = fft_size * 600 // 1024
    samples = random.integers(-9000, 9000, (fft_size, 2), dtype=np.int16)
    bins_ = scipy.fft.fft((samples[:, 0] + 1j * samples[:, 1]) / 32768, norm="ortho")
    expected = bins_[bins(fft_size, used, dc_hole)]
    got = core.ofdm_receive(samples, used, dc_hole=dc_hole, isa=isa)
    assert np.abs(got - expected).max() < 3e-6 * np.abs(expected).max() * np.log2(fft_size)


@pytest.mark.parametrize(("fft_size", "prefix"), [(128, 0), (512, 36), (2048, 160)])
def test_transmit_is_the_inverse_with_a_prefix(
    isa: str, random: np.random.Generator, fft_size: int, prefix: int
) -> None:
    used = fft_size // 2
    values = normal(random, used)
    grid = np.zeros(fft_size, dtype=complex)
    grid[bins(fft_size, used, True)] = values
    expected = scipy.fft.ifft(grid, norm="ortho") * 0.1 * 32768
    samples, saturated = core.ofdm_transmit(
        values.astype(np.complex64), fft_size, gain=0.1, prefix=prefix, dc_hole=True, isa=isa
    )
    got = samples[prefix:, 0] + 1j * samples[prefix:, 1]
    assert np.abs((got - expected).view(float)).max() < 0.51
    assert np.array_equal(samples[:prefix], samples[fft_size:])
    assert saturated == 0


def test_transmit_counts_what_it_saturates(isa: str, random: np.random.Generator) -> None:
    values = normal(random, 200)
    grid = np.zeros(256, dtype=complex)
    grid[bins(256, 200, False)] = values
    exact = (scipy.fft.ifft(grid, norm="ortho") * 2 * 32768).view(float)
    samples, saturated = core.ofdm_transmit(values.astype(np.complex64), 256, gain=2.0, isa=isa)
    assert saturated == np.count_nonzero((exact > 32767.5) | (exact < -32768.5)) > 0
    assert np.abs(samples.ravel() - np.clip(exact, -32768, 32767)).max() < 0.51


def test_noise_is_measured_beside_the_band(isa: str, random: np.random.Generator) -> None:
    pilot = core.zadoff_chu(300, 25)
    assert np.allclose(np.abs(pilot), 1)
    channel = 0.3 * normal(random, 1)[0]
    measured = []
    for _ in range(20):
        grid = np.zeros(512, dtype=complex)
        grid[bins(512, 300, False)] = channel * pilot
        time = scipy.fft.ifft(grid, norm="ortho") + 0.01 * normal(random, 512)
        samples = np.round(time[:, None].view(float) * 32768).astype(np.int16)
        row, noise = core.ofdm_receive_pilot(samples, np.conj(pilot), isa=isa)
        assert np.abs(row - channel).max() < 0.05
        measured.append(noise)
    assert np.mean(measured) == pytest.approx(1e-4, rel=0.1)


@pytest.mark.parametrize(
    ("comb", "offset", "group"), [(1, 0, 1), (4, 3, 1), (4, 1, 12), (6, 0, 16)]
)
def test_estimate_interpolates_and_averages(
    isa: str, random: np.random.Generator, comb: int, offset: int, group: int
) -> None:
    row = normal(random, 300)
    at = np.arange(offset, 300, comb)
    everywhere = np.interp(np.arange(300), at, row[at].real) + 1j * np.interp(
        np.arange(300), at, row[at].imag
    )
    starts = np.arange(0, 300, group)
    expected = np.add.reduceat(everywhere, starts) / np.diff(np.append(starts, 300))
    got = core.estimate(row.astype(np.complex64), comb=comb, offset=offset, group=group, isa=isa)
    assert np.abs(got - expected).max() < 1e-5


@pytest.mark.parametrize(("antennas", "users"), [(1, 1), (8, 2), (16, 8), (64, 16), (33, 5)])
def test_zero_forcing_is_the_pseudo_inverse(
    isa: str, random: np.random.Generator, antennas: int, users: int
) -> None:
    channel = normal(random, 20, antennas, users)
    combiner, noise = core.combine(channel.astype(np.complex64), 0.1, "zf", isa=isa)
    for h, w, v in zip(channel, combiner, noise, strict=True):
        inverse = scipy.linalg.pinv(h)
        assert np.abs(w - inverse).max() < 1e-3 * np.abs(inverse).max()
        assert np.allclose(v, 0.1 * np.sum(np.abs(inverse) ** 2, 1), rtol=2e-3)


@pytest.mark.parametrize(("detector", "loading"), [("mmse", 1.0), ("mrc", np.inf)])
def test_biased_detectors_are_scaled_to_unit_gain(
    isa: str, random: np.random.Generator, detector: str, loading: float
) -> None:
    channel = normal(random, 20, 16, 4)
    combiner, noise = core.combine(channel.astype(np.complex64), 0.3, detector, isa=isa)
    for h, w, v in zip(channel, combiner, noise, strict=True):
        matched = h.conj().T
        if loading == 1.0:
            matched = scipy.linalg.solve(matched @ h + 0.3 * np.eye(4), matched)
        expected = matched / np.diag(matched @ h)[:, None]
        assert np.abs(w - expected).max() < 1e-4
        leak = np.abs(expected @ h - np.eye(4)) ** 2
        assert np.allclose(v, 0.3 * np.sum(np.abs(expected) ** 2, 1) + leak.sum(1), rtol=2e-3)


def test_equalize_is_the_matrix_product(isa: str, random: np.random.Generator) -> None:
    combiner, received = normal(random, 20, 4, 16), normal(random, 20, 16)
    got = core.equalize(combiner.astype(np.complex64), received.astype(np.complex64), isa=isa)
    assert np.abs(got - np.einsum("nua,na->nu", combiner, received)).max() < 1e-5


@pytest.mark.parametrize("bits", [2, 4, 6, 8])
def test_demap_is_max_log(isa: str, random: np.random.Generator, bits: int) -> None:
    labels = random.integers(0, 2, (1000, bits), dtype=np.uint8)
    noise = 10 ** random.uniform(-1.4, -1.2 if bits == 8 else -0.4, 1000)
    symbols = reference.modulate(labels) + np.sqrt(noise) * normal(random, 1000)
    exact = 4 * reference.max_log(symbols, noise, bits)
    got = core.demap(symbols.astype(np.complex64), noise.astype(np.float32), bits, isa=isa)
    assert np.abs(got - np.clip(exact, -127, 127)).max() < 1  # rounded, of fixed-point numbers


@pytest.mark.parametrize(("graph", "lifting"), [(1, 2), (1, 104), (1, 384), (2, 9), (2, 208)])
def test_codewords_satisfy_every_check_of_the_standard(
    isa: str, random: np.random.Generator, graph: int, lifting: int
) -> None:
    code = reference.Ldpc(graph, lifting)
    info = random.integers(0, 2, code.info_columns * lifting, dtype=np.uint8)
    codeword = core.ldpc_encode(graph, lifting, info, isa=isa)
    whole = np.concatenate([info[: 2 * lifting], codeword])
    assert np.array_equal(whole[: len(info)], info)
    columns = whole.reshape(code.columns, lifting, 1).astype(bool)
    assert code.checks(columns, len(code.rows)).all()


@pytest.mark.parametrize(("graph", "lifting", "fillers"), [(1, 52, 100), (1, 384, 0), (2, 104, 7)])
def test_decoder_corrects_what_the_double_precision_decoder_corrects(
    isa: str, random: np.random.Generator, graph: int, lifting: int, fillers: int
) -> None:
    code = reference.Ldpc(graph, lifting)
    info = random.integers(0, 2, (6, code.info_columns * lifting), dtype=np.uint8)
    info[:, info.shape[1] - fillers :] = 0
    sent = (code.columns - 2) * lifting * 3 // 4
    for block in info:
        codeword = core.ldpc_encode(graph, lifting, block, isa=isa)
        llrs = np.zeros(len(codeword))
        noise = 0.7 * random.standard_normal(sent)
        llrs[:sent] = 2 / 0.49 * (1 - 2.0 * codeword[:sent] + noise)
        soft = np.clip(np.round(4 * llrs), -127, 127).astype(np.int8)
        got, iterations, _ = core.ldpc_decode(
            graph, lifting, soft, fillers=fillers, iterations=12, isa=isa
        )
        known = np.zeros(code.columns * lifting)
        known[2 * lifting :] = llrs
        known[info.shape[1] - fillers : info.shape[1]] = 1e3
        decided = code.decode(known.reshape(code.columns, lifting, 1), 12)
        assert np.array_equal(decided.ravel()[: info.shape[1]], block)
        assert np.array_equal(got, block)
        assert 1 <= iterations <= 12


def test_decoder_knows_a_codeword_when_it_sees_one(isa: str, random: np.random.Generator) -> None:
    info = random.integers(0, 2, 22 * 104, dtype=np.uint8)
    soft = (20 * (1 - 2 * core.ldpc_encode(1, 104, info, isa=isa).astype(np.int8))).astype(np.int8)
    got, iterations, parity = core.ldpc_decode(1, 104, soft, isa=isa)
    assert np.array_equal(got, info)
    assert parity
    assert iterations <= 2
    noise = random.integers(-20, 20, len(soft), dtype=np.int8)
    _, iterations, parity = core.ldpc_decode(1, 104, noise, iterations=5, isa=isa)
    assert not parity
    assert iterations == 5


def test_checksums_are_remainders(random: np.random.Generator) -> None:
    # 38.212 5.1
    powers = {
        "16": [16, 12, 5, 0],
        "24a": [24, 23, 18, 17, 14, 11, 10, 7, 6, 5, 4, 3, 1, 0],
        "24b": [24, 23, 6, 5, 1, 0],
    }
    for kind, exponents in powers.items():
        divisor = np.zeros(exponents[0] + 1, dtype=np.uint8)
        divisor[exponents[0] - np.array(exponents)] = 1
        for length in (1, 40, 1001):
            bits = random.integers(0, 2, length, dtype=np.uint8)
            rest = np.append(bits, np.zeros(exponents[0], dtype=np.uint8))
            for i in range(length):
                if rest[i]:
                    rest[i : i + len(divisor)] ^= divisor
            assert core.crc(kind, bits) == int("".join(map(str, rest[length:])), 2)


def test_gold_sequence_follows_its_two_registers() -> None:
    seed, first, count = 0x1234567, 77, 500
    x1 = [1] + [0] * 30
    x2 = [seed >> i & 1 for i in range(31)]
    for n in range(1600 + first + count):
        x1.append(x1[n + 3] ^ x1[n])
        x2.append(x2[n + 3] ^ x2[n + 2] ^ x2[n + 1] ^ x2[n])
    expected = [x1[n + 1600] ^ x2[n + 1600] for n in range(first, first + count)]
    assert core.gold(seed, first, count).tolist() == expected


def test_wrong_arguments_are_refused(random: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="no avx9"):
        core.ofdm_receive(np.zeros((128, 2), dtype=np.int16), 60, isa="avx9")
    with pytest.raises(ValueError, match="fft_size"):
        core.ofdm_receive(np.zeros((100, 2), dtype=np.int16), 60)
    with pytest.raises(ValueError, match="more users"):
        core.combine(normal(random, 1, 2, 3).astype(np.complex64), 0.1)
    with pytest.raises(ValueError, match="lifting"):
        core.ldpc_encode(1, 17, np.zeros(374, dtype=np.uint8))
    with pytest.raises(ValueError, match="detector"):
        core.combine(normal(random, 1, 3, 2).astype(np.complex64), 0.1, "magic")
    with pytest.raises(ValueError, match="kind"):
        core.crc("32", np.zeros(8, dtype=np.uint8))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32, np.uint8])
def test_soft_bits_of_another_dtype_are_refused_by_its_name(dtype: type) -> None:
    soft: Any = np.full(660, 200).astype(dtype)
    with pytest.raises(TypeError, match=f"soft must be an array of int8, not {dtype.__name__}: "):
        core.ldpc_decode(1, 10, soft)


@pytest.mark.parametrize("samples", [np.zeros((128, 2), np.float32), np.zeros((128, 2), np.int8)])
def test_samples_of_another_dtype_are_refused_by_its_name(samples: Any) -> None:
    with pytest.raises(TypeError, match=f"samples must be an array of int16, not {samples.dtype}"):
        core.ofdm_receive(samples, 60)
    with pytest.raises(TypeError, match="not a list"):
        core.ofdm_receive(samples.tolist(), 60)
    with pytest.raises(TypeError, match=f"samples must be an array of int16, not {samples.dtype}"):
        core.ofdm_receive_pilot(samples, np.ones(60, np.complex64))


def test_bits_are_zero_or_one() -> None:
    truth = np.array([True, False, True, True])
    assert core.crc("16", truth) == core.crc("16", truth.astype(np.uint8))
    with pytest.raises(ValueError, match=r"bits must be 0 or 1, but bits\[2\] is 2"):
        core.crc("16", np.array([1, 0, 2], np.uint8))
    for dtype in (np.int8, np.int64, np.float64):
        with pytest.raises(TypeError, match=f"bits must be .* uint8, not {dtype.__name__}:"):
            core.crc("16", truth.astype(dtype))
        with pytest.raises(TypeError, match="info must be"):
            core.ldpc_encode(1, 10, np.zeros(220, dtype))


def test_arrays_with_gaps_are_read_in_order(random: np.random.Generator) -> None:
    wide = random.integers(-100, 100, (128, 4)).astype(np.int16)
    expected = core.ofdm_receive(wide[:, ::2].copy(), 60)
    np.testing.assert_array_equal(core.ofdm_receive(wide[:, ::2], 60), expected)
    with pytest.raises(ValueError, match="samples must have 2 dimension"):
        core.ofdm_receive(wide[:, 0], 60)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-3])
def test_noise_must_be_a_variance(bad: float) -> None:
    channel = np.ones((1, 2, 1), np.complex64)
    with pytest.raises(ValueError, match="noise must be finite and at least 0"):
        core.combine(channel, bad)
    with pytest.raises(ValueError, match="noise must be finite and at least 0"):
        core.demap(np.ones(3, np.complex64), np.array([1, bad, 1], np.float32), 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, complex(0, np.nan)])
def test_values_must_be_finite(bad: complex) -> None:
    values = np.array([1, bad, 1], np.complex64)
    one = np.ones((3, 1, 1), np.complex64)
    for call in (
        lambda: core.demap(values, np.ones(3, np.float32), 2),
        lambda: core.combine(values.reshape(3, 1, 1), 0.1),
        lambda: core.equalize(one, values.reshape(3, 1)),
        lambda: core.equalize(values.reshape(3, 1, 1), values.reshape(3, 1)),
        lambda: core.estimate(values),
        lambda: core.ofdm_transmit(values, 128),
        lambda: core.ofdm_receive_pilot(np.zeros((128, 2), np.int16), values),
    ):
        with pytest.raises(ValueError, match="must be finite, but its value 1 is not"):
            call()


@pytest.mark.parametrize("iterations", [0, 65536, 70000])
def test_iterations_that_cannot_be_counted_are_refused(iterations: int) -> None:
    with pytest.raises(ValueError, match="iterations must be 1 to 65535"):
        core.ldpc_decode(1, 10, np.zeros(660, np.int8), iterations=iterations)


@pytest.mark.parametrize("cell", sorted(path.stem for path in CELLS.glob("*.yaml")))
def test_figures_of_every_example_fit_together(cell: str) -> None:
    text = plan(cell)
    assert core.validate(text) == []
    figures = core.describe(text)
    symbols = figures["symbols"]
    assert symbols[-1]["end_ms"] == pytest.approx(figures["frame_ms"])
    assert sum(symbol["samples"] for symbol in symbols) == figures["samples_per_frame"]
    rate = figures["samples_per_frame"] / figures["frame_ms"] * 1e-3
    assert rate == pytest.approx(figures["sample_rate_mhz"], rel=1e-6)
    for direction in ("uplink", "downlink"):
        side = figures[direction]
        if side is None:
            continue
        users = side["users"]
        assert sum(user["payload_bits"] for user in users) == side["payload_bits"]
        assert sum(sum(user["code_blocks"]) for user in users) == side["code_blocks"]
        assert [len(user["block_bits"]) for user in users] == [user["blocks"] for user in users]
        coded = sum(sum(user["coded_bits"]) for user in users)
        assert side["payload_bits"] < coded
        assert side["ideal_rate_mbps"] == pytest.approx(
            side["payload_bits"] / figures["frame_ms"] * 1e-3
        )


def test_figures_of_the_thesis_cell() -> None:
    figures = core.describe(plan("thesis-16x8"))
    assert figures["frame_ms"] == pytest.approx(5)
    assert figures["sample_rate_mhz"] == pytest.approx(30.72)
    assert len(figures["symbols"]) == 70
    assert {s["prefix"] for s in figures["symbols"]} == {144, 160}
    assert figures["uplink"]["data_symbols"] == 62
    assert figures["uplink"]["bits_per_symbol"] == 4800
    assert figures["downlink"] is None
    bits = 16 * 70 * (64 * 8 + 2048 * 32) + 16 * 32 * (60 * 144 + 10 * 160)
    assert figures["uplink_iq_gbps"] == pytest.approx(bits / 5e-3 * 1e-9)
    assert figures["uplink_packets_per_second"] == pytest.approx(16 * 70 / 5e-3)


def test_problems_of_a_plan_are_named() -> None:
    (found,) = core.validate(plan("laptop-8x2", cell__nonsense="1"))
    assert str(found) == "cell.nonsense is not a key of a run plan"
    assert (found.code, found.numbers) == ("other", [])
    found_of_users = core.validate(plan("laptop-8x2", cell__users="9"))
    assert "cell.users" in [problem.key for problem in found_of_users]
    with pytest.raises(ValueError, match=r"cell\.users"):
        core.describe(plan("laptop-8x2", cell__users="9"))


def test_link_counts_are_sums_over_frames() -> None:
    text = plan("rayleigh-16x4")
    link = core.Link(text)
    whole = link.point(3.0, 4, 7)
    parts = [link.point(3.0, 2, 7, first_frame=first) for first in (0, 2)]
    for name in ("frames", "blocks", "block_errors", "raw_bits", "raw_errors", "iterations"):
        assert whole[name] == sum(part[name] for part in parts), name
    assert whole["frames"] == 4
    assert whole["blocks"] == 16
    assert whole["raw_bits"] == 4 * 4 * 10 * 300 * 4
    assert 0 < whole["raw_errors"] < whole["raw_bits"] / 2
    assert sum(user["raw_errors"] for user in whole["users"]) == whole["raw_errors"]
    assert link.point(3.0, 4, 8)["raw_errors"] != whole["raw_errors"]
