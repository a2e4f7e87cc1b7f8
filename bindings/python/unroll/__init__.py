from ._core import Array
