"""What `carillon power` does."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import TaskID

from carillon import files, runfolder
from carillon.commands.bars import steps_bar
from carillon.commands.tables import new_table, print_table
from carillon.daemon import Interrupts
from carillon.errors import InputError
from carillon.power.held_out import held_out
from carillon.power.model import FAMILIES, Family, Found, Model, search, subsets
from carillon.power.points import Points, drawn, read_points, write_points


def draw(file: Path, ttis: int, seed: int) -> None:
    """Writes counts drawn from the published model."""
    if not file.parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}; make it first")
    if file.exists():
        read_points(file)  # nothing else is written over
    points = drawn(ttis, seed)
    write_points(file, points)
    print(f"{file}: {len(points.late)} points drawn from equation 6, not measured")


def make_model(
    file: Path, family: Family | None, most: int, starts: int, folder: Path | None, *, as_json: bool
) -> None:
    """Writes models.json, models.csv and models.svg; KeyboardInterrupt if it was stopped, after
    that. The folder's state lets the same search go on."""
    points = read_points(file)
    target = runfolder.made(folder or Path("runs") / f"power-{runfolder.file_name(file.stem)}")
    console = Console(stderr=as_json, highlight=False, markup=False)
    families = FAMILIES if family is None else (family,)
    found, whole = searched(points, families, most, starts, target, console)
    usable = [own.usable or own.without_poles[-1] for own in found if own.without_poles]
    predicted = held_out(points, usable)
    write_models(target, points, found, predicted, str(file))
    if as_json:
        print((target / "models.json").read_text(encoding="utf-8"), end="")
    for own in found:
        tell_found(console, own)
    _tell_held_out(console, predicted)
    console.print(f"models: {target / 'models.json'}, {target / 'models.svg'}", soft_wrap=True)
    if not whole:
        console.print("stopped early; the same command goes on where it was")
        raise KeyboardInterrupt


def searched(
    points: Points, families: Sequence[Family], most: int, starts: int, target: Path,
    console: Console,
) -> tuple[list[Found], bool]:  # fmt: skip
    """What is found of each family, and whether the search ran to its end; the folder keeps its
    state."""
    every = subsets(most)
    found = []
    with Interrupts() as interrupts, steps_bar(console) as progress:
        for family in families:
            task = progress.add_task(family, total=every)

            def step(done: int, task: TaskID = task) -> bool:
                progress.update(task, completed=min(done, every))
                return not interrupts.count

            state = target / f"search-{family}.npz"
            found.append(search(points, family, most=most, starts=starts, state=state, step=step))
            if interrupts.count:
                break
            progress.update(task, completed=every)
        return found, not interrupts.count


def write_models(
    target: Path,
    points: Points,
    found: list[Found],
    predicted: dict[str, float],
    source: str,
) -> None:
    """models.json, models.csv and models.svg; `predicted`: errors at clocks that were left out,
    `source`: where the points come from."""
    about = {
        "source": source,
        "points": len(points.late),
        "clock_mhz": [float(points.clock_mhz.min()), float(points.clock_mhz.max())],
        "rate_msps": [float(points.rate_msps.min()), float(points.rate_msps.max())],
        "families": [own.as_json() for own in found],
        "held_out_mse": predicted,
    }
    text = json.dumps(about, indent=2, ensure_ascii=False)
    files.write_text(target / "models.json", text + "\n")
    with files.table(target / "models.csv") as stream:
        writer = csv.writer(stream)
        names = [f"c{n}" for n in range(1, 19)]
        writer.writerow(["family", "count", "mse", "aic", "bic", "pole", *names])
        for model in (model for own in found for model in (*own.models, *own.without_poles)):
            values = [model.coefficients.get(name, "") for name in names]
            scores = [model.mse, model.aic, model.bic, int(model.pole)]
            writer.writerow([model.family, model.count, *scores, *values])
    from carillon.power.plots import draw_models  # with matplotlib, which takes its time

    draw_models(points, found, target / "models.svg", source)


def tell_found(console: Console, found: Found) -> None:
    """A family's models, and which is chosen."""
    table = new_table([found.family], ["MSE", "AIC", "BIC", "", ""])
    for model in found.models:
        table.add_row(
            f"{model.count} coefficients", f"{model.mse:.4g}", f"{model.aic:.1f}",
            f"{model.bic:.1f}", "has a pole" if model.pole else "",
            "chosen" if model is found.chosen else "",
        )  # fmt: skip
    print_table(console, table)
    rejected = ", ".join(f"{count} {why}" for why, count in found.rejected.items())
    console.print(f"{found.subsets} subsets were tried; of no use: {rejected}", soft_wrap=True)
    if not found.models:
        console.print("no model is of use: count at more clocks and rates", soft_wrap=True)
    for what, models, own in (
        ("by the paper's rule", found.models, found.chosen),
        ("and without a pole", found.without_poles, found.usable),
    ):
        if models:
            best = own or models[-1]
            words = what if own else f"{what}, the best so far; more coefficients may be worth it"
            console.print(f"{words}: MSE {best.mse:.4g}, {formula(best)}", soft_wrap=True)


def _tell_held_out(console: Console, predicted: dict[str, float]) -> None:
    if not predicted:
        return
    table = new_table(["clocks that were left out"], ["MSE"])
    for name, mse in sorted(predicted.items(), key=lambda each: each[1]):
        table.add_row(name, f"{mse:.3g}")
    print_table(console, table)
    console.print(f"{min(predicted, key=lambda name: predicted[name])} predicts them best")


def formula(model: Model) -> str:
    """A model as its equation, f in MHz and R in Msps."""
    g1, g2, g3 = (_polynomial(model, place) for place in (1, 7, 13))
    if model.family == "power":
        return f"late = (({g1}) / ({g2}))^({g3})"
    return f"late = ({g1}) · exp(({g2}) / ({g3}))"


def _polynomial(model: Model, first: int) -> str:
    terms = ("", "·f", "·f²", "·R", "·R²", "·f·R")
    own = [(model.coefficients.get(f"c{first + k}"), term) for k, term in enumerate(terms)]
    return " + ".join(f"{c:.6g}{term}" for c, term in own if c is not None).replace("+ -", "- ")
