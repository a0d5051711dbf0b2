"""Audits whose reports are tested, and a reader of HTML."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser

import numpy as np
from conftest import draw, every_family

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
