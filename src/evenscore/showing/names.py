"""Names of groups where there is little room: short, and no two alike."""

from collections import Counter
from collections.abc import Hashable, Iterable

from evenscore.scores.labels import label_text

LONGEST = 28


def shorten(text: str, longest: int = LONGEST) -> str:
    """The text with its middle left out if it is too long; names often differ at the end.

    >>> shorten("Native Hawaiian or Other Pacific Islander")
    'Native Hawaiian o…c Islander'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def short_names(groups: Iterable[Hashable], longest: int = LONGEST) -> tuple[str, ...]:
    """How groups are named in a picture.

    >>> short_names(["a", 1, "1", ""])
    ('a', '1 (2)', '1 (3)', "''")
    """
    names = [shorten(label_text(group), longest) for group in groups]
    names = [name if name.strip() else repr(name) for name in names]
    times = Counter(names)
    return tuple(
        name if times[name] == 1 else f"{name} ({number})"
        for number, name in enumerate(names, start=1)
    )
