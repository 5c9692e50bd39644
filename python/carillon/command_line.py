"""How a command ends: its exit status, and one line on standard error of what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import typer

from carillon.errors import CarillonError, Status, of_system

# Of any word that is wrong: typer names only what derives from it.
_Misuse = cast(type[Exception], typer.BadParameter.__base__)


def carry_out(app: Callable[..., Any]) -> int:
    """What the command line asks for; its exit status."""
    try:
        status = app(standalone_mode=False) or Status.DONE
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else Status.DONE
    except CarillonError as error:
        return _complain(f"{error.prefix}{error}", error.status)
    except _Misuse as error:
        return _complain(_misused(error), Status.WRONG_INPUT)
    except typer.Abort:
        return _complain("carillon: no answer was given", Status.FAILED)
    except MemoryError:
        return _complain("carillon: no memory is left; see `ulimit -v` and `free`", Status.FAILED)
    except OSError as error:  # a folder that may not be written, a full disk
        return _complain(f"carillon: {of_system(error)}", Status.FAILED)
    return _complain("carillon: stopped", status) if status == Status.STOPPED else int(status)


def _misused(error: Any) -> str:
    """Nothing where the help has been printed instead."""
    # Typer passes on what pydantic puts before it.
    message = error.format_message().rstrip(".").replace(": Value error, ", ": ")
    if not message:
        return ""
    hint = f"; `{error.ctx.command_path} --help` tells more" if error.ctx else ""
    return f"carillon: {message[0].lower()}{message[1:]}{hint}"


def _complain(text: str, status: int) -> int:
    if text:
        print(text, file=sys.stderr)
    return status
