"""What may be wrong with a data port."""

from carillon.errors import InputError


class PortError(InputError):
    """A data port that cannot be used, or has gone."""


class BusyError(PortError):
    """It serves another client, which may be about to go."""
