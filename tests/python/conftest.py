"""What a shell starts in the background ignores Ctrl-C; what tests start must not inherit that."""

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
