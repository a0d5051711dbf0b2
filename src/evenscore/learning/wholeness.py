"""Whether what was read from a file is whole: every part is there, and of its kind and size.

A model file may come from anybody. Its reader builds objects attribute by attribute, whatever the
values are; each class then says with these functions what its own must be, so that an altered file
is refused in a sentence instead of failing, or scoring nonsense, later.
"""

from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np

_LACKING = object()


def check_names(owner: Any) -> None:
    """Refuse attributes that are neither parameters nor learned: they could hide methods.

    Parameters
    ----------
    owner : dataclass or scorer
        What was read.

    Examples
    --------
    >>> from evenscore.learning.bars import PositionMap
    >>> rising = PositionMap(np.zeros(0), np.zeros(0))
    >>> vars(rising)["fit"] = None
    >>> check_names(rising)
    Traceback (most recent call last):
    ValueError: PositionMap must have no attribute 'fit'.
    """
    kind = type(owner)
    if hasattr(kind, "_get_param_names"):
        known = set(kind._get_param_names())
        for name in sorted(known - set(vars(owner))):
            raise ValueError(f"{kind.__name__}.{name} must be there.")
    else:
        known = {part.name for part in fields(owner)}
    for name in vars(owner):
        learned = name.endswith("_") and not name.startswith("_")
        if name not in known and (not learned or hasattr(kind, name)):
            raise ValueError(f"{kind.__name__} must have no attribute {name[:40]!r}.")


def part_of(owner: Any, name: str, kind: type, *, optional: bool = False) -> Any:
    """An attribute that must be of a type, exactly, or may be None.

    Parameters
    ----------
    owner : object
        What was read.
    name : str
        Of the attribute.
    kind : type
        What it must be.
    optional : bool
        Whether None will do.

    Returns
    -------
    object
    """
    value = getattr(owner, name, _LACKING)
    if value is _LACKING:
        raise ValueError(f"{type(owner).__name__}.{name} must be there.")
    if type(value) is kind or (optional and value is None):
        return value
    raise ValueError(
        f"{type(owner).__name__}.{name} must be of type {kind.__name__}"
        f"{' or None' if optional else ''}, not {type(value).__name__}."
    )


def check_numbers(owner: Any, name: str, shape: tuple[int, ...], *, above: float = -np.inf) -> None:
    """Refuse an attribute that is not an array of finite numbers of a shape.

    Parameters
    ----------
    owner : object
        What was read.
    name : str
        Of the attribute.
    shape : tuple of int
        Of the array; () for a single number.
    above : float
        What every number must be above.
    """
    value = getattr(owner, name, None)
    single = not shape and isinstance(value, Real) and not isinstance(value, bool)
    if single or (type(value) is np.ndarray and value.dtype.kind == "f"):
        check_array(f"{type(owner).__name__}.{name}", value, shape, above=above)
        return
    raise ValueError(f"{type(owner).__name__}.{name} must hold numbers.")


def check_array(called: str, value: Any, shape: tuple[int, ...], *, above: float = -np.inf) -> None:
    """Refuse numbers that are not of a shape, finite and large enough.

    Parameters
    ----------
    called : str
        What the sentence calls them.
    value : array or number
        The numbers.
    shape : tuple of int
        What they must have.
    above : float
        What every number must be above.

    Examples
    --------
    >>> check_array("coef_", np.array([1.0, np.nan]), (2,))
    Traceback (most recent call last):
    ValueError: coef_ must hold finite numbers.
    """
    if np.shape(value) != shape:
        size = " × ".join(map(str, shape)) or "one"
        raise ValueError(f"{called} must hold {size} number{'' if size in ('1', 'one') else 's'}.")
    try:
        finite = bool(np.all(np.isfinite(np.asarray(value, dtype=np.float64))))
    except OverflowError:
        finite = False
    if not finite:
        raise ValueError(f"{called} must hold finite numbers.")
    if not np.all(np.asarray(value) > above):
        raise ValueError(f"{called} must hold numbers above {above:g}.")


def check_positions(called: str, values: Any, n: int) -> None:
    """Refuse what is not a tuple of whole numbers from 0 to before n.

    Parameters
    ----------
    called : str
        What the sentence calls them.
    values : tuple
        The positions.
    n : int
        How many there are.
    """
    whole = isinstance(values, tuple) and all(type(value) is int for value in values)
    if not whole or not all(0 <= value < n for value in values):
        raise ValueError(f"{called} must hold whole numbers from 0 to {n - 1}.")
