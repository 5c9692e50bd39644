"""What a command tells in one line, without a traceback."""


class CarillonError(Exception):
    """Something that the user can mend; its text says what, where and how."""

    status = 1  # that a command ends with
    prefix = "carillon: "  # of the line on standard error
