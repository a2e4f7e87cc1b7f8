"""The library's statuses as exceptions. Each carries `status`, the number that the command exits with, and as its
text the library's sentence: what, where, why and how to mend it."""


class Error(Exception):
    """Something that the library refused or that failed."""

    status: int = 1

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


class UsageError(Error, ValueError):
    """What was asked for has no meaning (2)."""


class DataError(Error, ValueError):
    """A file or an array is missing, damaged or of the wrong kind (3)."""


class UnsupportedError(Error, NotImplementedError):
    """The library does not do this (4)."""


class ResourceError(Error, MemoryError):
    """Memory or a device is not to be had (5)."""


class DivergedError(Error, ArithmeticError):
    """A loss or a gradient is NaN or infinite (6)."""


class CommunicationError(Error, OSError):
    """Another process does not answer (7)."""


_BY_STATUS: dict[int, type[Error]] = {
    2: UsageError,
    3: DataError,
    4: UnsupportedError,
    5: ResourceError,
    6: DivergedError,
    7: CommunicationError,
}


def make(status: int, sentence: str) -> Error:
    """The exception that stands for a status."""
    return _BY_STATUS.get(status, Error)(sentence, status)
