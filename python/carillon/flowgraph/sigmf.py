"""SigMF recordings as sources and sinks: metadata here, samples in the engine's raw-source and
raw-sink (https://sigmf.org, version 1.2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from carillon import core, files
from carillon.errors import InputError, of_system
from carillon.flowgraph.blocks import BlockType, Parameter

MOST_BYTES = 1 << 26  # of metadata; more is something else
_MOST_TEXT = 63  # bytes that a tag carries (engine/dataflow/blocks/tag.hpp)
_INDEX = Field(0, ge=0, le=(1 << 63) - 1)

Values = dict[str, bool | int | float | str | list[float]]
Kind = Literal["time", "rate", "frequency", "overflow", "annotation"]


@dataclass(frozen=True)
class Tag:
    """What is said about a sample, as in the engine; value: s since 1970, Hz, or samples."""

    position: int
    kind: Kind
    value: float
    text: str = ""

    def __str__(self) -> str:
        return f"{self.position} {self.kind} {self.value!r} {self.text}".rstrip()


class _Section(BaseModel):
    model_config = ConfigDict(
        strict=True, alias_generator=lambda name: f"core:{name}", allow_inf_nan=False
    )


class _Global(_Section):
    datatype: str
    version: str
    sample_rate: float | None = Field(None, gt=0, le=1e18)
    num_channels: int = 1
    offset: int = _INDEX
    sha512: str | None = None
    trailing_bytes: int = _INDEX
    metadata_only: bool = False


class _Capture(_Section):
    sample_start: int = Field(ge=0, le=(1 << 63) - 1)
    frequency: float | None = Field(None, ge=-1e12, le=1e12)
    datetime: str | None = None
    global_index: int | None = Field(None, ge=0, le=(1 << 63) - 1)
    header_bytes: int = _INDEX


class _Annotation(_Section):
    sample_start: int = Field(ge=0, le=(1 << 63) - 1)
    sample_count: int | None = Field(None, ge=0, le=(1 << 63) - 1)
    label: str = ""
    comment: str = ""


class _Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    about: _Global = Field(alias="global")
    captures: list[_Capture]
    annotations: list[_Annotation]


@dataclass(frozen=True)
class Recording:
    """What the metadata says, in samples from the file's first."""

    data: Path
    datatype: str
    rate_hz: float | None
    offset_bytes: int
    samples: int
    tags: tuple[Tag, ...]
    sha512: str | None

    def source_values(self, *, repeat: bool = False) -> Values:
        """Parameters of a raw-source that gives its samples and tags."""
        return {
            "path": str(self.data),
            "datatype": self.datatype,
            "repeat": repeat,
            "offset_bytes": self.offset_bytes,
            "length_samples": self.samples,
            "tags": "".join(f"{tag}\n" for tag in self.tags),
        }

    def check_hash(self) -> None:
        """Raises InputError if the samples are not those that the metadata was written for."""
        if self.sha512 is not None and _sha512(self.data) != self.sha512.lower():
            raise InputError(f"{self.data}: has another SHA-512 than its metadata says")


def _source(values: Mapping[str, Any], rate_hz: float | None) -> core.Block:
    """RuntimeError of wrong metadata, ValueError of another rate than the recording's."""
    try:
        recording = read(Path(values["path"]))
        if values["check_hash"]:
            recording.check_hash()
    except InputError as error:
        raise RuntimeError(str(error)) from None
    if rate_hz is not None and recording.rate_hz not in (None, rate_hz):
        raise ValueError(
            f"{values['path']}: has {recording.rate_hz:.10g} samples a second, and the graph says "
            f"{rate_hz:.10g}"
        )
    return core.Block("raw-source", recording.source_values(repeat=values["repeat"]))


def _sink(values: Mapping[str, Any], rate_hz: float | None) -> core.Block:
    """RuntimeError of a name that no recording can have."""
    try:
        return core.Block("raw-sink", sink_values(Path(values["path"]), values["datatype"]))
    except InputError as error:
        raise RuntimeError(str(error)) from None


def _finish(values: Mapping[str, Any], rate_hz: float) -> None:
    write_metadata(Path(values["path"]), values["datatype"], rate_hz)


def base_of(path: Path) -> Path:
    """The common part of a recording's two files' names, by either of them or by itself."""
    if path.suffix == ".sigmf":
        raise InputError(f"{path}: is an archive; unpack it with tar xf, and name a .sigmf-meta")
    return path.with_suffix("") if path.suffix in (".sigmf-meta", ".sigmf-data") else path


def read(path: Path) -> Recording:
    """Reads and checks metadata. Raises InputError with the file and what is wrong with it."""
    base = base_of(path)
    meta = base.with_name(base.name + ".sigmf-meta")
    data = base.with_name(base.name + ".sigmf-data")
    try:
        found = _parse(meta)
        return _recording(found, meta, data, data.stat().st_size)
    except OSError as error:
        raise InputError(of_system(error)) from None


def sink_values(path: Path, datatype: str) -> Values:
    """Parameters of a raw-sink that writes a recording's samples; write_metadata() then writes the
    rest. InputError of a name that no recording can have."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a recording")
    base = base_of(path)
    return {
        "path": f"{base}.sigmf-data",
        "datatype": datatype,
        "tags_path": f"{base}.sigmf-tags",
    }


def write_metadata(path: Path, datatype: str, rate_hz: float) -> None:
    """Of what a raw-sink has written so far, also if it failed. Its file of tags is removed."""
    base = base_of(path)
    data, lines = (base.with_name(base.name + end) for end in (".sigmf-data", ".sigmf-tags"))
    samples = data.stat().st_size // _item_bytes(datatype)
    tags = [tag for tag in _written_tags(lines) if tag.position < samples]
    metadata = {
        "global": {
            "core:datatype": datatype,
            "core:sample_rate": rate_hz,
            "core:version": "1.2.0",
            "core:recorder": f"carillon {core.version}",
            "core:sha512": _sha512(data),
        },
        "captures": _captures(tags, rate_hz),
        "annotations": _annotations(tags, rate_hz, samples),
    }
    files.write_text(
        base.with_name(base.name + ".sigmf-meta"),
        json.dumps(metadata, indent=2, ensure_ascii=False) + "\n",
    )
    lines.unlink(missing_ok=True)


@cache
def _datatypes() -> frozenset[str]:
    (source,) = (each for each in core.block_types() if each["name"] == "raw-source")
    (datatype,) = (each for each in source["parameters"] if each["name"] == "datatype")
    return frozenset(datatype["choices"])


def _item_bytes(datatype: str) -> int:
    bits = int(datatype.removesuffix("_le").removesuffix("_be")[2:])
    return bits // 8 * (2 if datatype[0] == "c" else 1)


def _sha512(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest()


def _refuse(meta: Path, why: str) -> NoReturn:
    raise InputError(f"{meta}: {why}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parse(meta: Path) -> _Metadata:
    if (size := meta.stat().st_size) > MOST_BYTES:
        _refuse(meta, f"has {size} bytes, but metadata have at most {MOST_BYTES}")
    try:
        value = json.loads(meta.read_bytes(), parse_constant=_refuse_constant)
    except RecursionError:
        _refuse(meta, "is nested too deeply")
    except ValueError as error:
        _refuse(meta, f"is no JSON: {error}")
    try:
        return _Metadata.model_validate(value)
    except ValidationError as error:
        _refuse(meta, _told(error))


def _told(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"is no SigMF metadata: has no {where}"
    if first["type"] == "model_type":
        return f"is no SigMF metadata: {where + ' ' if where else ''}must be a JSON object"
    return f"{where}: {first['msg']}"


def _recording(found: _Metadata, meta: Path, data: Path, data_bytes: int) -> Recording:
    about = found.about
    datatype = about.datatype.removesuffix("_le") if "8" in about.datatype else about.datatype
    if datatype not in _datatypes():
        _refuse(meta, f"core:datatype is {datatype!r}, but must be as in cf32_le, ci16_be or cu8")
    if about.metadata_only:
        _refuse(meta, "is said to have no samples (core:metadata_only)")
    if about.num_channels != 1:
        _refuse(meta, f"has {about.num_channels} channels, but one is read")
    if any(capture.header_bytes for capture in found.captures[1:]):
        _refuse(meta, "has core:header_bytes between samples; those before the first are read")
    before = found.captures[0].header_bytes if found.captures else 0
    length = data_bytes - before - about.trailing_bytes
    samples, rest = divmod(length, _item_bytes(datatype))
    if length < 0 or rest:
        _refuse(
            data,
            f"has {data_bytes} bytes, which are no whole samples of {datatype}; read it by "
            "raw-source if it was cut off",
        )
    _check_order(meta, "captures", found.captures, about.offset, samples)
    _check_order(meta, "annotations", found.annotations, about.offset, samples)
    tags = sorted(_tags(found, meta), key=lambda tag: tag.position)
    return Recording(data, datatype, about.sample_rate, before, samples, tuple(tags), about.sha512)


def _check_order(
    meta: Path,
    name: str,
    sections: Sequence[_Capture | _Annotation],
    offset: int,
    samples: int,
) -> None:
    last = offset
    for place, section in enumerate(sections):
        start = section.sample_start
        end = start
        if isinstance(section, _Annotation):
            end += section.sample_count or 0
        where = f"{name}.{place}.core:sample_start is {start}"
        if start < last:
            _refuse(meta, f"{where}, which is before {last}; they must ascend")
        if end > offset + samples:
            _refuse(meta, f"{where}, but it is about samples up to {end} of {offset + samples}")
        last = start


def _tags(found: _Metadata, meta: Path) -> Iterator[Tag]:
    if found.about.sample_rate is not None:
        yield Tag(0, "rate", found.about.sample_rate)
    offset = found.about.offset
    before: _Capture | None = None
    for place, capture in enumerate(found.captures):
        at = capture.sample_start - offset
        if missing := _missing(before, capture):
            yield Tag(at, "overflow", missing)
        if capture.datetime is not None:
            where = f"captures.{place}.core:datetime is {capture.datetime!r}"
            yield Tag(at, "time", _seconds(meta, where, capture.datetime))
        if capture.frequency is not None:
            yield Tag(at, "frequency", capture.frequency)
        before = capture
    for annotation in found.annotations:
        text = ": ".join(part for part in (annotation.label, annotation.comment) if part)
        at = annotation.sample_start - offset
        yield Tag(at, "annotation", annotation.sample_count or 0, _cut(text))


def _missing(before: _Capture | None, capture: _Capture) -> int:
    """Samples that were not recorded between two captures."""
    if before is None or before.global_index is None or capture.global_index is None:
        return 0
    apart = capture.global_index - before.global_index
    return max(0, apart - (capture.sample_start - before.sample_start))


def _seconds(meta: Path, where: str, text: str) -> float:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        _refuse(meta, f"{where}, but must be as in 2026-01-31T12:00:00.5Z")
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _cut(text: str) -> str:
    """As much as a tag carries, in one line."""
    line = "".join(" " if ord(sign) < ord(" ") else sign for sign in text)
    return line.encode("utf-8", "replace")[:_MOST_TEXT].decode("utf-8", "ignore").rstrip()


def _written_tags(lines: Path) -> Iterator[Tag]:
    """What raw-sink has written; a last line that was cut off is none."""
    if not lines.exists():
        return
    for line in lines.read_bytes().decode("utf-8", "ignore").split("\n")[:-1]:
        position, kind, value, *text = line.split(" ", 3)
        yield Tag(int(position), kind, float(value), *text)  # type: ignore[arg-type]


def _captures(tags: Sequence[Tag], rate_hz: float) -> list[dict[str, Any]]:
    """One at the first sample, and one wherever a time or a frequency is stated, or samples are
    missing.

    Time and frequency go on from one to the next.
    """
    captures: list[dict[str, Any]] = [{"core:sample_start": 0}]
    frequency: float | None = None
    time: float | None = None
    index = last = 0
    for tag in sorted(tags, key=lambda tag: tag.position):
        if tag.kind not in ("time", "frequency", "overflow"):
            continue
        apart = tag.position - last
        index, last = index + apart, tag.position
        time = None if time is None else time + apart / rate_hz
        if tag.kind == "overflow":
            index += int(tag.value)
            time = None if time is None or tag.value == 0 else time + tag.value / rate_hz
        elif tag.kind == "time":
            time = tag.value
        else:
            frequency = tag.value
        if captures[-1]["core:sample_start"] != tag.position:
            captures.append({})
        captures[-1] = _capture(tag.position, index, time, frequency)
    return captures


def _capture(
    position: int, index: int, time: float | None, frequency: float | None
) -> dict[str, Any]:
    capture: dict[str, Any] = {"core:sample_start": position, "core:global_index": index}
    if frequency is not None:
        capture["core:frequency"] = frequency
    if time is not None:
        capture["core:datetime"] = (
            datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds")[:-6] + "Z"
        )
    return capture


def _annotations(tags: Sequence[Tag], rate_hz: float, samples: int) -> list[dict[str, Any]]:
    """Annotations, and other rates than the recording's, of which SigMF has one only."""
    found = []
    for tag in sorted(tags, key=lambda tag: tag.position):
        if tag.kind == "annotation":
            count, label = min(int(tag.value), samples - tag.position), tag.text
        elif tag.kind == "rate" and tag.value != rate_hz:
            count, label = 0, f"rate {tag.value:g} Hz"
        else:
            continue
        section: dict[str, Any] = {"core:sample_start": tag.position}
        if count > 0:
            section["core:sample_count"] = count
        if label:
            section["core:label"] = label
        found.append(section)
    return found


def _parameter(
    name: str, text: str, kind: str, standard: Any = None, choices: Sequence[str] = ()
) -> Parameter:
    return Parameter(
        name, text, kind, standard, unit="", least=-1e308, most=1e308, choices=list(choices),
        changes=False,
    )  # fmt: skip


_PATH = _parameter("path", "The recording's .sigmf-meta, or its name without an ending.", "text")
TYPES = (
    BlockType(
        "sigmf-source",
        "sources",
        "Reads a SigMF recording: captures become tags of time and frequency, annotations tags.",
        {
            "path": _PATH,
            "repeat": _parameter("repeat", "Whether it begins anew at its end.", "flag", False),
            "check_hash": _parameter(
                "check_hash", "Whether its SHA-512 must be right.", "flag", False
            ),
        },
        make=_source,
    ),
    BlockType(
        "sigmf-sink",
        "sinks",
        "Writes a SigMF recording; tags become captures and annotations.",
        {
            "path": _PATH,
            "datatype": _parameter(
                "datatype", "Of its samples.", "text", "cf32_le", choices=sorted(_datatypes())
            ),
        },
        make=_sink,
        finish=_finish,
    ),
)
