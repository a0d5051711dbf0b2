"""The parameters that scorers share: how they are checked, how they are described."""

import re
from inspect import cleandoc
from numbers import Real
from textwrap import indent
from typing import Any

import numpy as np

from evenscore.inference.estimate import check_count as check_whole


def check_number(
    scorer: Any,
    name: str,
    least: float,
    most: float = np.inf,
    *,
    above: bool = False,
    optional: bool = False,
) -> None:
    """Refuse a parameter of a scorer that is not a finite number within its range."""
    value = getattr(scorer, name)
    if optional and value is None:
        return
    fine = isinstance(value, Real) and least <= float(value) <= most
    if fine and np.isfinite(float(value)) and not (above and value == least):
        return
    lower = f"above {least:g}" if above else f"of at least {least:g}"
    upper = "" if most == np.inf else f" and at most {most:g}"
    raise ValueError(f"{name} must be a finite number {lower}{upper}, not {value!r}.")


def check_strength(strength: Any) -> None:
    """Refuse what is neither a number of at least 0 nor several of them."""
    if strength is None:
        return
    several = np.ndim(strength) > 0 and not isinstance(strength, str)
    for value in strength if several else (strength,):
        if not isinstance(value, Real) or not np.isfinite(float(value)) or float(value) < 0.0:
            each = ", or a list of them, one for each constraint" if several else ""
            raise ValueError(
                f"strength must be a finite number of at least 0{each}, not {value!r}."
            )


def check_count(scorer: Any, name: str, least: int = 1, *, optional: bool = False) -> None:
    """Refuse a parameter of a scorer that is not a whole number, or too small."""
    value = getattr(scorer, name)
    if value is not None or not optional:
        check_whole(value, name, least)


def seed_of(random_state: Any) -> Any:
    """What `numpy.random.default_rng` takes, from all that scikit-learn allows."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(0, 2**31 - 1)
    return random_state


def described(doc: str, base: str) -> str:
    r"""A docstring in which bare names have the descriptions that another one gives.

    >>> print(described("groups_", "Base.\n\ngroups_ : tuple\n    The groups."))
    groups_ : tuple
        The groups.
    """
    entries = re.split(r"\n(?=\S)", cleandoc(base))
    shared = {text.split(" : ")[0]: text.rstrip() for text in entries}

    def entry(match: re.Match[str]) -> str:
        return indent(shared.get(match["name"], match["name"]), match["space"])

    return re.sub(r"^(?P<space> *)(?P<name>\w+)$", entry, doc, flags=re.MULTILINE)
