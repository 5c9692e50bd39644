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
    only_with: str = "",
    ge: float | None = None,
    le: float | None = None,
) -> Any:
    """A documented key.

    `ge`, `le`: its range; `allowed`: its range where no type says it; `only_with`: what a key
    beside it must be, as "prefix: constant", or it is an error to give this one.
    """
    extra = {"unit": unit, "allowed": allowed, "only_with": only_with}
    given = {name: text for name, text in extra.items() if text}
    if only_with:
        description = f"{description} Only with `{only_with}`."
    return Field(
        default, description=description, json_schema_extra=dict(given) or None, ge=ge, le=le
    )
