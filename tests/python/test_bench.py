"""Reading what benchmark programs print."""

from pathlib import Path

import pytest
from carillon.bench import BenchError, measure, parse, programs, source_tree, with_peak


def test_rows_are_read_from_a_list_and_from_lines() -> None:
    whole = '[{"kernel": "fft", "fft_size": 512, "isa": "avx2", "ns": 100, "gflops": 20}]'
    lines = 'warming up\n{"kernel": "crc", "case": "256 bits", "ns": 5.5, "gbps": 46.5}\n'
    (fft,) = parse("bench-a", whole)
    assert (fft.kernel, fft.case, fft.isa, fft.ns, fft.gflops) == (
        "fft",
        "fft_size 512",
        "avx2",
        100.0,
        20,
    )
    (crc,) = parse("bench-b", lines)
    assert (crc.case, crc.isa) == ("256 bits", "any")
    assert crc.mbps == pytest.approx(46500.0)


def test_the_share_of_the_peak_is_of_the_same_instruction_set() -> None:
    text = (
        '{"kernel": "peak", "isa": "avx2", "ns": 1, "gflops": 100}\n'
        '{"kernel": "a", "isa": "avx2", "ns": 1, "gflops": 50}\n'
        '{"kernel": "b", "isa": "avx512", "ns": 1, "gflops": 50}\n'
    )
    rows = with_peak(list(parse("bench", text)))
    assert [row.peak_share for row in rows] == [1.0, 0.5, None]


def test_programs_are_named_as_cmake_names_them() -> None:
    names = programs(source_tree(), "")
    assert "bench-phy-ofdm-ofdm" in names
    assert programs(source_tree(), "zeroforce") == ["bench-phy-zeroforce-zeroforce"]


def test_a_program_that_fails_is_told(tmp_path: Path) -> None:
    program = tmp_path / "bench-bad"
    program.write_text("#!/bin/sh\necho no AVX here >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(BenchError, match="bench-bad failed: no AVX here"):
        measure(program)
