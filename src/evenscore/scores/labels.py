"""Labels as people write them (strings, numbers, booleans) become small integer codes."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_LABEL = 1000
"""Characters of a label or a name of a group: it is said and drawn many times."""

_SHOWN = 60  # characters of a label in a sentence
_TABLE_LIMIT = 1 << 16  # integers spread over less than this are coded by a look-up table
# Controls, breaks of lines, marks of direction, lone surrogates; joiners belong to some scripts.
_UNSHOWN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufeff]"
)
_SCAN_LIMIT = 64  # text with more labels than this is coded by sorting


def encode(array: NDArray[Any], name: str) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Codes 0..L−1 and the L distinct labels, in default order.

    A missing value is refused, and so is a text that is too long or holds a NUL.

    >>> encode(np.array(["b", "a", "b"]), "group")
    (array([1, 0, 1]), ['a', 'b'])
    """
    codes, labels = _encode(array, name)
    for code, label in enumerate(labels):
        text = label.decode("latin-1") if isinstance(label, bytes) else label
        if isinstance(text, str) and (len(text) > MAX_LABEL or "\0" in text):
            row = int(np.argmax(codes == code))
            if len(text) > MAX_LABEL:
                raise ValueError(
                    f"{name} holds a text of {len(text):,} characters at row {row}; a label has at "
                    f"most {MAX_LABEL:,}."
                )
            raise ValueError(f"{name} holds a NUL character at row {row}, which no label may.")
    return codes, labels


def _encode(array: NDArray[Any], name: str) -> tuple[NDArray[np.intp], list[Hashable]]:
    kind = array.dtype.kind
    if array.size == 0:
        return np.zeros(0, dtype=np.intp), []
    if kind == "b":
        codes, values = _encode_small_integers(array.view(np.uint8), 0, 1)
        return codes, [bool(value) for value in values]
    if kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < _TABLE_LIMIT:
            return _encode_small_integers(array, low, high)
    if kind in "fcmM":
        missing = np.flatnonzero(array != array)  # NaN and NaT differ from themselves
        if missing.size:
            raise _missing(name, int(missing[0]))
        if kind in "mM":
            array = array.astype(str)  # Python has no nanoseconds: labels are the ISO texts
    if kind in "OT":  # T is NumPy's text with missing values
        return _encode_objects(array.astype(object), name)
    if kind in "US":
        coded = _encode_by_scan(array)
        if coded is not None:
            return coded
    labels, codes = np.unique(array, return_inverse=True)
    return codes.reshape(-1), labels.tolist()


def default_order(labels: Iterable[Hashable]) -> list[Hashable]:
    """Sorted labels; labels that do not compare are sorted by type, then by text."""
    labels = list(labels)
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def cross(
    columns: list[tuple[NDArray[np.intp], list[Hashable]]],
) -> tuple[NDArray[np.intp], list[Hashable]]:
    """Codes of the intersections of several coded columns; the labels are tuples.

    Only combinations that occur get a code.
    """
    if len(columns) == 1:
        return columns[0]
    codes, crossed = columns[0][0], [(label,) for label in columns[0][1]]
    for column, labels in columns[1:]:
        # Coded anew after each column, the products stay small.
        present, inverse = np.unique(codes * len(labels) + column, return_inverse=True)
        pairs = (divmod(code, len(labels)) for code in present.tolist())
        crossed = [(*crossed[i], labels[j]) for i, j in pairs]
        codes = inverse.reshape(-1)
    return codes, list(crossed)


def label_text(label: Hashable) -> str:
    """How a label is shown: an intersection reads 'Female × Black'.

    Characters that would break a line or turn the direction of what follows are replaced.

    >>> print(label_text(("Female", "Black")), label_text("a" + chr(0x202E) + "b"))
    Female × Black a�b
    """
    text = " × ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)
    return _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", text)


def shown(label: Any) -> str:
    """A label in a sentence: as Python writes it, and only the beginning if it is long.

    >>> shown("x"), len(shown("x" * 500))
    ("'x'", 61)
    """
    text = " ".join(repr(label).split("\n"))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def distinct_names(labels: Iterable[Hashable]) -> tuple[str, ...]:
    """Labels as texts that differ and are not empty: if two would read alike, by `repr`.

    >>> distinct_names(["a", 1, "1"])
    ('a', '1', "'1'")
    """
    labels = tuple(labels)
    texts = [label_text(label) for label in labels]
    times = Counter(texts)
    clear = {text for text in texts if text.strip() and times[text] == 1}
    names = [
        text if text in clear else repr(label) for text, label in zip(texts, labels, strict=True)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} (group {k + 1})" for k, name in enumerate(names)]
    return tuple(names)


def _missing(name: str, row: int) -> ValueError:
    return ValueError(f"{name} is missing at row {row}; fill or drop such rows first.")


def _encode_small_integers(
    array: NDArray[Any], low: int, high: int
) -> tuple[NDArray[np.intp], list[Hashable]]:
    # Differences wrap around in the type of the array, and the spread fits in the small type: cheap
    # and right for tens of millions of rows.
    shifted = (array - array.dtype.type(low)).astype(np.uint8 if high - low < 256 else np.uint16)
    present = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
    table = np.zeros(high - low + 1, dtype=np.intp)
    table[present] = np.arange(len(present))
    return table[shifted], list((present + low).tolist())


def _encode_by_scan(array: NDArray[Any]) -> tuple[NDArray[np.intp], list[Hashable]] | None:
    """Compare with each label in turn: for few labels, faster than sorting text."""
    labels = np.unique(array[:1000])
    for _ in range(2):  # labels may turn up late; the second time all are known
        if len(labels) > _SCAN_LIMIT:
            break
        codes = np.full(len(array), -1, dtype=np.intp)
        for code, label in enumerate(labels):
            codes[array == label] = code
        unmatched = codes < 0
        if not unmatched.any():
            return codes, labels.tolist()
        labels = np.unique(np.concatenate([labels, np.unique(array[unmatched])]))
    return None


def _encode_objects(array: NDArray[Any], name: str) -> tuple[NDArray[np.intp], list[Hashable]]:
    first: dict[Hashable, int] = {}
    codes = np.empty(len(array), dtype=np.intp)
    for row, value in enumerate(array.tolist()):
        try:
            code = first.get(value)
        except TypeError:
            raise ValueError(
                f"{name} holds a value that cannot be a label at row {row}: {shown(value)}."
            ) from None
        if code is None:
            if is_missing(value):
                raise _missing(name, row)
            code = first[value] = len(first)
        codes[row] = code
    labels = default_order(first)
    rank = np.empty(len(labels), dtype=np.intp)
    for position, label in enumerate(labels):
        rank[first[label]] = position
    return rank[codes], [
        label.item() if isinstance(label, np.generic) else label for label in labels
    ]


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, NaT, pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN, NaT and Decimal's NaN differ from themselves
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"  # pandas.NA does not know
    except ArithmeticError:  # Decimal's NaN that must not be computed with
        return True
