"""The library's statuses as exceptions. Each has `status`, the command's exit code, and the library's message as its
text: what, where, why, and a fix."""


class NoteWarning(UserWarning):
    """A decision or an omission that the caller may want to change, such as a series that is too short to predict."""


class Error(Exception):
    """The library refused a request or failed."""

    status: int = 1

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


class UsageError(Error, ValueError):
    """A request has no meaning (2)."""


class DataError(Error, ValueError):
    """A file or an array is missing, damaged or of the wrong kind (3)."""


class UnsupportedError(Error, NotImplementedError):
    """Not supported by the library (4)."""


class ResourceError(Error, MemoryError):
    """Out of memory, or a device is not available (5)."""


class DivergedError(Error, ArithmeticError):
    """A loss or a gradient is NaN or infinite (6)."""


class CommunicationError(Error, OSError):
    """Another process does not respond (7)."""


_BY_STATUS: dict[int, type[Error]] = {
    2: UsageError,
    3: DataError,
    4: UnsupportedError,
    5: ResourceError,
    6: DivergedError,
    7: CommunicationError,
}


def make(status: int, sentence: str) -> Error:
    """Returns the exception for a status."""
    return _BY_STATUS.get(status, Error)(sentence, status)
