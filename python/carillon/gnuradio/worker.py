"""Loads a flowgraph and does what is asked of it: a line of JSON in, a line out.

Run by the Python that has GNU Radio. Its standard input has the file (a Python program, of grcc or
by hand), and what measure.Request has. Its answer is measure.measure's, or {"error": TEXT}.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["GR_CONF_PERFCOUNTERS_ON"] = "True"
os.environ["GR_CONF_PERFCOUNTERS_CLOCK"] = "thread"

from carillon.gnuradio.flow import Flow, FlowError, record_connections
from carillon.gnuradio.measure import Request, measure
from carillon.gnuradio.program import load


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """FlowError in words, of whatever kind it was."""
    file = Path(asked.pop("file"))
    try:
        return measure(Flow(load(file)), Request(**asked))
    except FlowError as error:
        return {"error": str(error)}
    except Exception as error:  # of somebody else's program
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # blocks and the logger print
    record_connections()
    json.dump(answer(json.loads(sys.stdin.readline())), answers)
    answers.close()
    os._exit(0)  # without the destructors of blocks that were never meant to end


if __name__ == "__main__":
    main()
