"""Audits whose reports are tested, and a reader of HTML."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

import numpy as np
from support.making import draw, every_family

from evenscore import Words
from evenscore.auditing.audit import audit

SCRIPT = "<script>alert(1)</script>"
HOSTILE = (SCRIPT, '日本 & "x" \u2028 $y$', "</style><b onclick='a()'>", "ünï\u202ecode")
VOID = {"meta", "link", "input", "br", "rect", "path", "circle", "use", "polyline"}


@cache
def case(n_groups=2, n=400, weights=None, title="Score <i>one</i>", levels=None):
    """An audit of groups with hostile names."""
    y, score, group, weight = draw(11, n=n, n_groups=n_groups, levels=levels, weights=weights)
    names = np.array([*HOSTILE, *(f"group {k}" for k in range(4, n_groups))], dtype=object)
    return audit(
        y,
        score,
        sensitive_features=names[group],
        sample_weight=weight,
        title=title,
        group_order=names[:n_groups].tolist(),
        constraints=every_family(),
    )


RACES = (
    "African-American",
    "American Indian and Alaska Native",
    "Asian",
    "Hispanic or Latino",
    "Native Hawaiian or Other Pacific Islander",
    "White, not Hispanic",
)
LONG = Words(
    people="defendants",
    positives="people who were charged again within two years",
    negatives="people who were not charged again within two years",
    selected="labelled as high risk",
    selected_is="bad",
    refused="labelled as low risk",
)


@cache
def layout_case(name):
    """Audits that take much room: "6" and "20" groups with long names, two "columns" of them."""
    n_groups = {"6": 6, "20": 20, "columns": 4}[name]
    rng = np.random.default_rng(0)
    y, group = rng.integers(0, 2, 1500), rng.integers(0, n_groups, 1500)
    score = rng.normal(size=1500) + y + 0.1 * group
    names = np.array([RACES[k] if k < 6 else f"{RACES[k % 6]} {k}" for k in range(n_groups)])
    groups = names[group]
    if name == "columns":
        groups = {"sex": np.array(["Female", "Male"])[rng.integers(0, 2, 1500)], "race": groups}
    words = LONG if name == "6" else None
    return audit(y, score, sensitive_features=groups, words=words, constraints=every_family())


@dataclass
class Node:
    """An element: its name, attributes, children and text."""

    tag: str
    attributes: dict[str, str | None]
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self):
        parts = (c if isinstance(c, str) else c.text for c in self.children)
        return " ".join("".join(parts).split())

    def all(self, tag=None, **attributes):
        """Elements below, in document order."""
        wanted = {name.replace("_", "-").strip("-"): value for name, value in attributes.items()}
        for child in self.children:
            if isinstance(child, Node):
                if tag in (None, child.tag) and all(
                    name in child.attributes and value in (True, child.attributes[name])
                    for name, value in wanted.items()
                ):
                    yield child
                yield from child.all(tag, **attributes)

    def one(self, tag=None, **attributes):
        [found] = self.all(tag, **attributes)
        return found


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
            self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read(html):
    """The tree of a page; elements must be closed in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0]
