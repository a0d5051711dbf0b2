"""Names as people gave them: short, no two alike, and shown letter by letter: no TeX."""

from collections import Counter
from collections.abc import Hashable, Iterable
from textwrap import wrap

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


def group_names(groups: Iterable[Hashable], longest: int = LONGEST) -> tuple[str, ...]:
    """How groups are named in a plot: literal, short, and no two alike.

    >>> group_names(["a", 1, "1", ""])
    ('a', '1 (2)', '1 (3)', "''")
    """
    return tuple(map(literal, short_names(groups, longest)))


def in_lines(text: str, longest: int) -> str:
    """A text in as few lines as have at most so many letters, about equally long.

    >>> print(in_lines("share of all applicants granted a loan", 36))
    share of all applicants
    granted a loan
    """
    few = len(wrap(text, longest, break_long_words=False))
    widths = range(1, longest + 1)
    lines = (wrap(text, width, break_long_words=False) for width in widths)
    return "\n".join(next((found for found in lines if len(found) <= few), [text]))
