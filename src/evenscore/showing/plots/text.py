"""Names as people gave them, shown letter by letter: no TeX, nothing hidden, nothing endless."""

from collections import Counter
from collections.abc import Hashable, Iterable

from evenscore.scores.labels import label_text

_LONGEST = 28


def literal(text: str) -> str:
    r"""The text that matplotlib shows as the given one, whatever is in it.

    Dollar signs would start a formula; characters that cannot be printed have no glyph and may not
    stand in an SVG file.

    >>> print(literal("$x$"), literal("a\nb"))
    \$x\$ a�b
    """
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return printable.replace("$", r"\$")


def as_label(text: str) -> str:
    """A text, already made literal, as the label of an artist: one that legends do not leave out.

    Matplotlib leaves out labels that begin with an underscore: a space before it is not seen.
    """
    return f" {text}" if text.startswith("_") else text


def shorten(text: str, longest: int = _LONGEST) -> str:
    """The text with its middle left out if it is too long; names often differ at the end.

    >>> shorten("Native Hawaiian or Other Pacific Islander")
    'Native Hawaiian o…c Islander'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) * 2 // 5
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def group_names(groups: Iterable[Hashable], longest: int = _LONGEST) -> tuple[str, ...]:
    """How groups are named in a plot: literal, short, and no two alike.

    >>> group_names(["a", 1, "1", ""])
    ('a', '1 (2)', '1 (3)', "''")
    """
    names = [shorten(label_text(group), longest) for group in groups]
    names = [name if name.strip() else repr(name) for name in names]
    times = Counter(names)
    return tuple(
        literal(name if times[name] == 1 else f"{name} ({number})")
        for number, name in enumerate(names, start=1)
    )
