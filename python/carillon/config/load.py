"""From YAML text to a checked cell; every mistake is told with its file and line."""

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from yaml.error import MarkedYAMLError, YAMLError

from carillon import core
from carillon.config.errors import ConfigError, Problem, explain, shown
from carillon.config.fields import Path, dotted, extra, spans, walk
from carillon.config.models import Cell, Grants
from carillon.config.plan import Run, data_symbols, plan_text, slots_of
from carillon.config.sections import plannable
from carillon.config.slots import Slots, read_slots
from carillon.config.yaml_text import parse
from carillon.errors import InputError
from carillon.inputs import read_input

M = TypeVar("M", bound=BaseModel)

_MOST_BYTES = 1 << 18
_GRANT = "cell.grants.list."


@dataclass(frozen=True)
class Loaded:
    """A cell and where each of its keys was written."""

    cell: Cell
    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    slots: Slots | None = None  # of grants.file

    def line(self, path: Path) -> int:
        """The line of a key, or of the nearest section that holds it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def check(self, run: Run | None = None) -> None:
        """Asks the engine about everything that crosses keys; raises ConfigError."""
        found = core.validate(plan_text(self.cell, run or Run()))
        problems = [*self._needless(), *map(self.located, found)]
        if problems:
            raise ConfigError(problems)

    def _needless(self) -> Iterator[Problem]:
        """Keys that the file gives although another makes them count for nothing.

        Only the file tells: a plan, which is what the engine reads, has every key.
        """
        for path, known in walk(Cell):
            needed = extra(known, "only_with")
            if not needed or path not in self.lines:
                continue
            name, _, wanted = needed.partition(": ")
            section = functools.reduce(getattr, map(str, path[:-1]), self.cell)
            other, given = (*path[:-1], name), getattr(section, name)
            value = getattr(section, str(path[-1]))
            empty = isinstance(value, BaseModel) and value == type(value)()
            if given != wanted and not empty:
                yield Problem(
                    self.file,
                    self.line(path),
                    dotted(path),
                    f"is {shown(value)} but counts only with "
                    f"{dotted(other)}: {wanted}, and that is {shown(given)}; delete it, or change "
                    f"{dotted(other)}",
                )

    def check_cores(self) -> None:
        """Whether this machine has the cores that the file lists; raises ConfigError.

        Apart from check(), since a cell may be meant for another machine.
        """
        here = os.sched_getaffinity(0)
        allowed = f"one of the cores that this process may use: {spans(here)}"
        missing = [
            self.problem(f"runtime.cores.{place}", f"is {cpu} but must be {allowed}")
            for place, cpu in enumerate(self.cell.runtime.cores)
            if cpu not in here
        ]
        if missing:
            raise ConfigError(missing)

    def check_key(self) -> None:
        """Whether packets can be authenticated here as the file asks; raises ConfigError.

        Apart from check(), since a cell may be meant for another machine.
        """
        file = self.cell.fronthaul.key_file
        if not file:
            return
        try:
            why = core.key_problem(plannable(file))
        except ValueError as error:  # the folder that it lies in
            why = f"is {shown(file)}, which is {error}"
        if why:
            raise ConfigError([self.problem("fronthaul.key_file", why)])

    def found_from(self, folder: FilePath) -> "Loaded":
        """The cell with the files that it names from a folder."""

        def found(file: str) -> str:
            return str((folder / file).absolute()) if file else ""

        link, data, grants = self.cell.fronthaul, self.cell.data, self.cell.grants
        update = {
            "grants": grants.model_copy(update={"file": found(grants.file)}),
            "fronthaul": link.model_copy(update={"key_file": found(link.key_file)}),
            "data": data.model_copy(
                update={
                    "socket": found(data.socket),
                    "users_socket": found(data.users_socket),
                }
            ),
        }
        return replace(self, cell=self.cell.model_copy(update=update))

    def with_slots(self) -> "Loaded":
        """The cell with the grants of the file of slots that it names; those that do not fit are
        left out, see Slots.refused. Raises ConfigError where it cannot be read."""
        grants = self.cell.grants
        if grants.kind != "file":
            if grants.file:
                message = f"is {shown(grants.file)} but counts only with grants.kind: file"
                raise ConfigError([self.problem("grants.file", message)])
            return self
        for key, given in (("list", grants.list), ("frames", grants.frames > 1)):
            if given:
                message = "is given, but grants.kind is file, and the file says it; delete it"
                raise ConfigError([self.problem(f"grants.{key}", message)])
        slots = _with_symbols(self.cell, self._read_slots(grants.file))
        while slots.grants:
            cell = _listed(self.cell, slots, replays=("radio", "frames") in self.lines)
            loaded = replace(self, cell=cell, slots=slots)
            wrong = loaded._wrong_grants()
            if not wrong:
                return loaded
            slots = slots.without(wrong)
        if slots.refused:
            raise ConfigError(slots.refused)
        message = f"is {shown(grants.file)}, which has no allocation in any slot"
        raise ConfigError([self.problem("grants.file", message)])

    def _read_slots(self, file: str) -> Slots:
        if not file:
            message = "is empty but grants.kind is file; name the file"
            raise ConfigError([self.problem("grants.file", message)])
        try:
            return read_slots(FilePath(file))
        except ConfigError:
            raise
        except InputError as error:
            message = f"cannot be used: {error}"
            raise ConfigError([self.problem("grants.file", message)]) from None

    def _wrong_grants(self) -> dict[int, Problem]:
        wrong: dict[int, Problem] = {}
        for found in core.validate(plan_text(self.cell, Run())):
            if found.key.startswith(_GRANT):
                number = int(found.key.removeprefix(_GRANT).partition(".")[0])
                wrong.setdefault(number, self.located(found))
        return wrong

    def located(self, found: core.Problem) -> Problem:
        """What the engine has found, where the files say it."""
        message = self.slots.message(found) if self.slots else found.message
        return self.problem(found.key, message)

    def problem(self, key: str, message: str) -> Problem:
        """A mistake of a key, where the file says it; those of the run are options."""
        if key.startswith("run."):
            return Problem("", 0, "--" + key.removeprefix("run."), message)
        if self.slots and key.startswith(_GRANT):
            place, _, own = key.removeprefix(_GRANT).partition(".")
            return self.slots.problem(int(place), own, message)
        path: Path = tuple(
            int(part) if part.isdigit() else part for part in key.removeprefix("cell.").split(".")
        )
        return Problem(self.file, self.line(path), dotted(path), message)


def load_cell(file: FilePath, *, check: bool = True) -> Loaded:
    """Reads a cell's YAML file, and the file of slots that it names."""
    return parse_cell(_read(file), str(file), check=check, folder=file.parent)


def load_model(
    model: type[M], file: FilePath, most_bytes: int = _MOST_BYTES
) -> tuple[M, dict[Path, int]]:
    """Reads another model's YAML file, and where each of its keys is written."""
    tree, lines = _parse(_read(file, most_bytes), str(file))
    return _validated(model, tree, str(file), lines), lines


def _read(file: FilePath, most_bytes: int = _MOST_BYTES) -> str:
    try:
        data = read_input(file, most_bytes + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError([Problem(str(file), 0, "", f"cannot be read: {reason}")]) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(str(file), 0, "", "is not UTF-8 text")]) from error
    if len(data) > most_bytes:
        reason = f"is larger than {most_bytes >> 10} KiB, which is the most that is read"
        raise ConfigError([Problem(str(file), 0, "", reason)])
    return text


def parse_cell(
    text: str, file: str = "cell.yaml", *, check: bool = True, folder: FilePath | None = None
) -> Loaded:
    """Reads a cell from YAML text; `file` is only for messages and for a missing name. Files
    that it names are found from `folder`, else from where this process is."""
    tree, lines = _parse(text, file)
    if isinstance(tree, dict) and tree.get("name") in (None, ""):
        # A file's name may hold bytes that are no text.
        tree["name"] = "".join(c if c.isprintable() else "?" for c in FilePath(file).stem)
    loaded = Loaded(_validated(Cell, tree, file, lines), file, lines)
    if folder is not None:
        loaded = loaded.found_from(folder)
    loaded = loaded.with_slots()
    if check:
        loaded.check()
    return loaded


def _with_symbols(cell: Cell, slots: Slots) -> Slots:
    """But for those that have no symbol of their direction."""
    letters = {"uplink": "U", "downlink": "D with data"}
    return slots.without(
        {
            number: slots.problem(
                number, "symbols", f"have no {letters[grant.direction]} in their slot"
            )
            for number, grant in enumerate(slots.grants)
            if grant.symbols + grant.first_symbol <= cell.symbols_per_slot
            and not data_symbols(cell, grant)
        }
    )


def _listed(cell: Cell, slots: Slots, *, replays: bool) -> Cell:
    """With the grants of a file, in whole frames. replays: how many frames the radio replays is
    given; else as many as are a multiple of these."""
    frames = max(1, -(-slots.slots // slots_of(cell)))
    grants = Grants(kind="list", list=slots.grants)
    grants = grants.model_copy(update={"frames": frames})
    update: dict[str, Any] = {"grants": grants}
    if not replays:
        whole = -(-cell.radio.frames // frames) * frames
        update["radio"] = cell.radio.model_copy(update={"frames": whole})
    return cell.model_copy(update=update)


def _validated(model: type[M], tree: Any, file: str, lines: dict[Path, int]) -> M:
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        where = Loaded(Cell(), file, lines)
        raise ConfigError(
            [
                Problem(file, where.line(path), dotted(path), message)
                for path, message in explain(model, error)
            ]
        ) from None


def _parse(text: str, file: str) -> tuple[Any, dict[Path, int]]:
    try:
        return parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 0
        reason = (error.problem or "is not YAML").split("\n")[0]
        raise ConfigError([Problem(file, line, "", f"is not valid YAML: {reason}")]) from None
    except RecursionError:
        raise ConfigError([Problem(file, 0, "", "is nested too deeply")]) from None
    except (YAMLError, ValueError) as error:  # ValueError: `!!int x`
        reason = str(error).split("\n")[0]
        raise ConfigError([Problem(file, 0, "", f"is not valid YAML: {reason}")]) from None
