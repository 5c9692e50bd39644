"""No kernel is compiled for more than the engine asks the processor for."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[2] / "engine"
TIERS = ("avx2", "avx512", "avx512fp16")


@cache
def compiled_for(features: tuple[str, ...]) -> set[str]:
    """All that code compiled for these may use, by the compiler's own word."""
    levels = [f"-march={name}" for name in features if name.startswith("x86-64")]
    parts = [f"-m{name}" for name in features if not name.startswith("x86-64")]
    command = ["g++", "-dM", "-E", "-x", "c++", *levels, *parts, "/dev/null"]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[1] for line in macros.splitlines()}


def targets(source: str) -> list[tuple[str, ...]]:
    """Of every function or section of a file that has its own."""
    found = re.findall(r'\btarget\("([^"]+)"\)', source)
    return [
        tuple(
            part.removeprefix("arch=")
            for part in target.split(",")
            if not part.startswith("prefer-")
        )
        for target in found
    ]


def asked_for(source: str) -> tuple[str, ...]:
    return tuple(re.findall(r'__builtin_cpu_supports\("([^"]+)"\)', source))


def of_tier(tier: str) -> tuple[str, ...]:
    """What the engine asks for before it takes a tier: this one's and those below."""
    detection = (ENGINE / "base/isa.cpp").read_text()
    bodies = dict(re.findall(r"^bool has_(\w+)\(\) \{(.*?)\}$", detection, re.M | re.S))
    assert tuple(bodies) == TIERS
    return tuple(
        feature for name in TIERS[: TIERS.index(tier) + 1] for feature in asked_for(bodies[name])
    )


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_is_taken_only_where_all_of_its_code_runs(tier: str) -> None:
    (target,) = targets((ENGINE / f"phy/simd/{tier}_begin.inl").read_text())
    assert compiled_for(target) <= compiled_for(of_tier(tier))


def test_code_beside_the_kernels_needs_no_more_than_the_lowest_tier_or_asks() -> None:
    checked = 0
    for file in sorted(ENGINE.rglob("*.cpp")):
        source = file.read_text()
        for target in targets(source):
            allowed = of_tier("avx2") + asked_for(source)
            assert compiled_for(target) <= compiled_for(allowed), file
            checked += 1
    assert checked > 0
