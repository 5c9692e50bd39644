"""What every configuration model shares."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Base(BaseModel):
    """Unknown keys are errors, and values mean what they look like (no "8" for 8)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def key(
    default: Any,
    description: str,
    unit: str = "",
    *,
    allowed: str = "",
    ge: float | None = None,
    le: float | None = None,
) -> Any:
    """A documented key. `ge`, `le`: its range; `allowed`: its range where no type says it."""
    extra = {name: text for name, text in (("unit", unit), ("allowed", allowed)) if text}
    return Field(
        default, description=description, json_schema_extra=dict(extra) or None, ge=ge, le=le
    )
