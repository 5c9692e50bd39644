"""When a test gives a process up: for what never ends. No test says how fast anything is."""

HANG_S = 1800
