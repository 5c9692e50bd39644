"""Models of late subframes: fits against SciPy's, and what the commands say and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from carillon import cli, core
from carillon.errors import InputError, Status
from carillon.power.commands import formula
from carillon.power.model import Family, Model, chosen, search, subsets
from carillon.power.points import COLUMNS, Points, drawn, read_points, write_points
from numpy.typing import NDArray
from scipy import optimize, stats
from typer.testing import CliRunner

POINTS = drawn(1000, 3)
Values = NDArray[np.float64]


def model_of(family: str, c: Values, f: Values, r: Values) -> Values:
    """The families as the paper has them, written anew."""
    g1, g2, g3 = (
        a + b * f + d * f**2 + e * r + g * r**2 + h * f * r
        for a, b, d, e, g, h in (c[:6], c[6:12], c[12:])
    )
    found: Values = (g1 / g2) ** g3 if family == "power" else g1 * np.exp(g2 / g3)
    return found


def found_of(family: str, points: Points, whole: int) -> dict[str, Any]:
    own = core.LateSearch(family, points.rows, 4, 1)
    while own.whole < whole:
        own.work(1.0, 2)
    return own.found()


def free_of(family: str, c: Values, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """All but the largest of the denominator, where the largest clock and rate are units."""
    f, r = POINTS.clock_mhz.max(), POINTS.rate_msps.max()
    units = np.tile([1, f, f**2, r, r**2, f * r], 3)
    first = 6 if family == "power" else 12
    below = own[(own >= first) & (own < first + 6)]
    free: NDArray[np.int64] = own[own != below[np.argmax(np.abs(c * units)[below])]]
    return free


@pytest.mark.parametrize("family", ["power", "exponential"])
def test_a_fit_is_where_scipys_ends_and_as_significant(family: str) -> None:
    found = found_of(family, POINTS, 4)
    f, r, y = POINTS.rows.T
    random = np.random.default_rng(1)
    names = core.late_verdicts()
    with_fit = np.flatnonzero(found["verdict"] != names.index("no fit"))
    # It may have begun with five already.
    tried = [
        t
        for t in with_fit
        if int(t).bit_count() <= 4 and all(t >> place & 63 for place in (0, 6, 12))
    ]
    useful = [t for t in tried if names[found["verdict"][t]] in ("good", "pole")]
    best_fits = sorted(useful, key=lambda t: float(found["mse"][t]))[:12]
    seen = set()
    for terms in [*best_fits, *random.choice(tried, 60, replace=False)]:
        c = found["coefficients"][terms]
        own = np.flatnonzero(c)
        free = free_of(family, c, own)

        def residuals(scale: Values, c: Values = c, free: NDArray[np.int64] = free) -> Values:
            moved = c.copy()
            moved[free] = c[free] * scale
            with np.errstate(all="ignore"):
                away: Values = np.clip(
                    np.nan_to_num(model_of(family, moved, f, r) - y, nan=1e6), -1e6, 1e6
                )
                return away

        start = np.ones(len(free))
        verdict = names[found["verdict"][terms]]
        jacobian, finer = (optimize.approx_fprime(start, residuals, by) for by in (1e-7, 1e-8))
        lengths = np.linalg.norm(jacobian, axis=0)
        is_exact = np.linalg.norm(jacobian - finer) < 0.01 * np.linalg.norm(jacobian)
        if not is_exact or not np.all(lengths) or np.linalg.cond(jacobian / lengths) > 1e4:
            continue  # rounding says as much as the points
        assert np.mean(residuals(start) ** 2) == pytest.approx(found["mse"][terms], rel=1e-6)
        if terms in best_fits:
            best = optimize.least_squares(residuals, start, x_scale="jac", max_nfev=50)
            assert 2 * best.cost / len(y) >= found["mse"][terms] * (1 - 1e-3)
        variance = found["mse"][terms] * len(y) / (len(y) - len(free))
        deviations = np.sqrt(variance * np.diag(np.linalg.inv(jacobian.T @ jacobian)))
        p = 2 * stats.t.sf(1 / deviations, len(y) - len(free))
        if verdict in ("good", "pole"):
            assert np.all(p <= 0.06)
        elif verdict == "insignificant":
            assert np.any(p >= 0.04)
        seen.add(verdict)
    assert {"insignificant"} < seen


def test_probabilities_are_the_papers() -> None:
    random = np.random.default_rng(2)
    f, r = random.uniform(1000, 2000, 50), random.uniform(5, 30, 50)
    for family in ("power", "exponential"):
        c = random.uniform(0.1, 1, 18)
        c[12:] *= 1e-7
        with np.errstate(over="ignore"):
            expected = model_of(family, c, f, r)
        np.testing.assert_allclose(core.late_probability(family, c.tolist(), f, r), expected)
    with pytest.raises(ValueError, match="18 coefficients"):
        core.late_probability("power", [1.0], f, r)


def test_drawn_points_are_of_the_published_model() -> None:
    points = drawn(10**6, 1)
    assert len(points.late) == 48
    expected = {(1500.0, 15.36): 0.0291603, (2100.0, 7.68): 0.0281}
    for (clock, rate), late in expected.items():
        own = (points.clock_mhz == clock) & (points.rate_msps == rate)
        assert points.share[own][0] == pytest.approx(late, abs=1e-3)
    assert np.all(points.share[points.clock_mhz == 1000] > 0.8)


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    state = tmp_path / "search.npz"
    told: list[int] = []

    def until(done: int) -> bool:
        told.append(done)
        return done < 300

    first = search(POINTS, "power", most=4, starts=1, state=state, step=until, threads=1)
    assert first.subsets in (0, 216, 1836) and told == sorted(told)
    whole = search(POINTS, "power", most=4, starts=1, state=state)
    again = search(POINTS, "power", most=4, starts=1)
    assert whole == again and whole.subsets == subsets(4) == 1836
    assert sum(whole.rejected.values()) < 1836
    other = search(drawn(50, 9), "power", most=3, starts=1, state=state)
    assert other.models != whole.models[:1]
    state.write_bytes(b"no state")
    with pytest.raises(InputError, match="is no search's state; delete it"):
        search(POINTS, "power", most=3, starts=1, state=state)


def models_of(*errors: float) -> list[Model]:
    return [Model("power", 3 + k, {}, mse, 0, 0, False) for k, mse in enumerate(errors)]


def test_the_first_that_another_coefficient_hardly_betters_is_chosen() -> None:
    errors = models_of(1.0, 0.5, 0.476, 0.1)
    assert chosen(errors) is errors[1]
    assert chosen(models_of(1.0, 0.9, 0.5)) is None
    all_of_them = models_of(*(0.5**k for k in range(16)))
    assert chosen(all_of_them) is all_of_them[-1]
    assert chosen([]) is None


def test_a_formula_is_written_with_its_signs() -> None:
    own: dict[str, float] = {"c1": 2.0, "c3": -0.5, "c7": 1.0, "c13": 3.0, "c18": 4.0}

    def of(family: Family) -> str:
        return formula(Model(family, 5, own, 0, 0, 0, False))

    assert of("power") == "late = ((2 - 0.5·f²) / (1))^(3 + 4·f·R)"
    assert of("exponential") == "late = (2 - 0.5·f²) · exp((1) / (3 + 4·f·R))"


def test_the_commands_draw_and_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    drawing = run(cli.app, ["power", "draw", "late.csv", "--seed", "5"])
    assert "48 points drawn from equation 6, not measured" in drawing.output
    words = ["power", "model", "late.csv", "--most", "4", "--starts", "1", "--folder", "out"]
    done = run(cli.app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "out" / "models.json").read_text())
    assert json.loads(done.stdout) == told
    assert [own["family"] for own in told["families"]] == ["power", "exponential"]
    rows = (tmp_path / "out" / "models.csv").read_text().splitlines()
    assert rows[0].startswith("family,count,mse") and len(rows) == 9
    assert (tmp_path / "out" / "models.svg").stat().st_size > 10_000
    assert "the best so far; more coefficients may be worth it: MSE " in run(cli.app, words).output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n", r":1: the first line must be clock_mhz,rate_msps,ttis,late"),
        ("", r":1: the first line must be"),
        (",".join(COLUMNS) + "\n", "has no points"),
        (",".join(COLUMNS) + "\n1000,10,9\n", ":2: needs 4 cells"),
        (",".join(COLUMNS) + "\n1000,10,9,x\n", ":2: clock_mhz and rate_msps are numbers"),
        (",".join(COLUMNS) + "\n1000,10,9,10\n", ":2: ttis must be 1 or more, and late from 0"),
        (",".join(COLUMNS) + "\n1000,10,0,0\n", ":2: ttis must be 1 or more"),
        (",".join(COLUMNS) + "\n" + "1" * 200_000 + ",10,9,1\n", ":2: field larger than"),
        (",".join(COLUMNS) + "\nnan,10,9,1\n", ":2: clock_mhz and rate_msps must be above 0"),
        (",".join(COLUMNS) + "\n1000,10,9,1\n1000,20,9,2\n", "needs 3 to 256 points, not 2"),
    ],
)
def test_wrong_points_are_told_with_their_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        search(read_points(file), "power", most=3)
    done = CliRunner().invoke(
        cli.app, ["power", "model", str(file), "--folder", str(tmp_path / "out")]
    )
    assert getattr(done.exception, "status", None) == Status.WRONG_INPUT


def test_points_that_say_too_little_have_no_model(tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_text("\n".join([",".join(COLUMNS), *[f"1000,10,10,{late}" for late in range(3)]]))
    words = ["power", "model", str(file), "--most", "3", "--folder", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    assert done.output.count("no model is of use: count at more clocks and rates") == 2


def test_a_file_that_is_too_long_is_not_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_text("\n".join([",".join(COLUMNS), *["1000,10,9,1"] * 100_000]))
    with pytest.raises(InputError, match=r"late\.csv: has more than 1048576 bytes"):
        read_points(file)


def test_points_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    write_points(file, POINTS)
    np.testing.assert_array_equal(read_points(file).rows, POINTS.rows)
