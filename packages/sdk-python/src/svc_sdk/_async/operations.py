"""The operations of the API; their types are in the stub beside."""

from ..operations import Operations as AsyncOperations

__all__ = ["AsyncOperations"]
