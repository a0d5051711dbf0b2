"""The paper this library comes from, made again: every table and figure, beside the published."""

from evenscore.paper.reproduction import Reproduced, reproduce

__all__ = ["Reproduced", "reproduce"]
