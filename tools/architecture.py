"""The page of the architecture, drawn from the code: who imports whom, by parsing.

`docs/contributing/architecture.md` and its picture are made from the imports of `src/evenscore` and
from the prose in `tools/architecture.template.md`; write them anew with

    python tools/architecture.py

`tests/test_architecture.py` keeps the layers below, and that the page is up to date.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "evenscore"
TEMPLATE = Path(__file__).with_name("architecture.template.md")
PAGE = ROOT / "docs" / "contributing" / "architecture.md"
PICTURE = PAGE.parent / "images" / "rooms.svg"

# Each room may import those of a line above, never those of its own line or below.
LAYERS = [
    {"scores"},
    {"inference"},
    {"gaps"},
    {"placement"},
    {"metrics", "auditing"},
    {"repairing"},
    {"learning"},
    {"choosing"},
    {"showing"},
    {"files", "paper"},
    {"cli"},
    {"__main__"},  # `python -m evenscore`
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Modules that stand below their room: they import nothing of the house but what is said here.
BELOW: dict[str, set[str]] = {
    "extras": set(),  # optional packages
    "files.atomic": set(),  # writing whole or not at all
    "files.ordinary": set(),  # what may be opened
    "paper.laws": {"scores", "gaps"},  # what data are drawn from
    "datasets": {"scores", "files.atomic", "paper.laws"},
}
# Everybody may use these, so that no arrow leads to them; `evenscore` itself is the public names.
_EVERYWHERE = {"extras", "files.atomic", "files.ordinary"}
_NO_ROOMS = {"__main__", "__version__", "RENDERERS", *_EVERYWHERE}
_LEFT = {
    "metrics",
    "files",
    "placement",
}  # of the picture; what is on no longest path is on the right else
_RAISED = {"placement"}  # by a row, where three others are in its own
_LONGEST = 10  # files listed

# ---------------------------------------------------------------------- reading the code


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of the package, dotted after `evenscore.`, with their files."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts != ("__init__",):
            yield ".".join(part for part in parts if part != "__init__"), path


@cache
def imported(path: Path) -> frozenset[str]:
    """Dotted names after `evenscore.` that a file imports, by statement or by text."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evenscore"):
            base = node.module.removeprefix("evenscore").removeprefix(".")
            for alias in node.names:
                yield f"{base}.{alias.name}".removeprefix(".")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("evenscore."):
                    yield alias.name.removeprefix("evenscore.")
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "import_module":
            for argument in ast.walk(node.args[0]):
                if isinstance(argument, ast.Constant) and "evenscore" in str(argument.value):
                    yield str(argument.value).removeprefix("evenscore").removeprefix(".") or "?"


def below(name: str) -> str | None:
    """The part that stands below its room to which a module belongs, if it does.

    >>> below("files.atomic"), below("files.sql")
    ('files.atomic', None)
    """
    return next((known for known in BELOW if name == known or name.startswith(f"{known}.")), None)


def room_of(name: str) -> str:
    """The room of a module, or the part of a room that stands below it.

    >>> room_of("gaps.auc"), room_of("paper.laws.rings")
    ('gaps', 'paper.laws')
    """
    return below(name) or name.split(".")[0]


@dataclass(frozen=True)
class Room:
    """A room: its files, and which other rooms they import."""

    name: str
    files: tuple[Path, ...]
    imports: frozenset[str]

    @property
    def purpose(self) -> str:
        """The first sentence of what it says of itself."""
        [home] = [path for path in self.files if _is_home(self.name, path)]
        text = ast.get_docstring(ast.parse(home.read_text(encoding="utf-8"))) or ""
        return re.split(r"(?<=[.!?]) ", " ".join(text.split()))[0]

    @property
    def n_lines(self) -> int:
        """Of all files."""
        return sum(map(lines_of, self.files))


def _is_home(name: str, path: Path) -> bool:
    place = SOURCE.joinpath(*name.split("."))
    return path in (place / "__init__.py", place.with_suffix(".py"))


def lines_of(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text(encoding="utf-8").splitlines())


def read_rooms() -> dict[str, Room]:
    """The rooms by name, those that import nothing first."""
    files, imports = defaultdict(list), defaultdict(set)
    for name, path in modules():
        files[room_of(name)].append(path)
        imports[room_of(name)] |= {room_of(other) for other in imported(path)}
    rooms = {
        name: Room(name, tuple(paths), frozenset(imports[name] - {name} - _NO_ROOMS))
        for name, paths in files.items()
        if name not in _NO_ROOMS
    }
    heights = heights_of({name: room.imports for name, room in rooms.items()})
    return dict(sorted(rooms.items(), key=lambda item: (heights[item[0]], item[0])))


# ---------------------------------------------------------------------- a graph


def heights_of(graph: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """How many rooms are below each, on the longest way down.

    >>> heights_of({"a": frozenset(), "b": frozenset("a"), "c": frozenset("ab")})
    {'a': 0, 'b': 1, 'c': 2}
    """
    heights: dict[str, int] = {}

    def height(name: str, above: tuple[str, ...] = ()) -> int:
        if name in above:
            raise ValueError(f"{' → '.join((*above, name))}: rooms import each other in a circle.")
        if name not in heights:
            steps = [height(other, (*above, name)) for other in graph[name]]
            heights[name] = 1 + max(steps, default=-1)
        return heights[name]

    return {name: height(name) for name in graph}


def reduced(graph: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The same graph without the arrows that follow from others.

    >>> {a: sorted(b) for a, b in reduced({"a": frozenset(), "b": frozenset("a"),
    ...                                    "c": frozenset("ab")}).items()}
    {'a': [], 'b': ['a'], 'c': ['b']}
    """

    def reached(name: str) -> set[str]:
        return {name}.union(*map(reached, graph[name]))

    return {
        name: frozenset(
            one for one in others if not any(one in reached(other) for other in others - {one})
        )
        for name, others in graph.items()
    }


def longest_path(graph: Mapping[str, frozenset[str]]) -> list[str]:
    """Rooms from the top to the bottom, each importing the next."""
    heights = heights_of(graph)
    path = [max(heights, key=lambda name: (heights[name], name))]
    while graph[path[-1]]:
        path.append(max(graph[path[-1]], key=lambda name: (heights[name], name)))
    return path


# ---------------------------------------------------------------------- the picture

_WIDTH, _BOX, _TALL, _ROW = 390, 108, 30, 48  # a phone's width; a box; from row to row
_COLUMNS = {"left": 64, "middle": 195, "right": 326}
# Boxes bring their own background and arrows are of a middle grey: seen on white and on black.
_STYLE = (
    "rect{fill:#e8eef7;stroke:#5b6b82;stroke-width:1.2}"
    "text{font:600 14px system-ui,sans-serif;fill:#14202f;text-anchor:middle}"
    "path{fill:none;stroke:#7d8aa0;stroke-width:1.8}"
    "marker path{fill:#7d8aa0;stroke:none}"
)


def draw_rooms(graph: Mapping[str, frozenset[str]]) -> str:
    """The rooms as boxes in rows, and an arrow to what each imports, as an SVG text."""
    heights = heights_of(graph)
    heights |= {name: heights[name] + 1 for name in _RAISED if name in heights}
    arrows = reduced(graph)
    middle = set(longest_path(arrows))
    top = max(heights.values())
    at = {}
    for name, height in heights.items():
        side = "middle" if name in middle else "left" if name in _LEFT else "right"
        at[name] = _COLUMNS[side], 8 + _ROW * (top - height) + _TALL // 2
    if len(set(at.values())) < len(at):
        raise ValueError("Two rooms are drawn in one place: put one of them into _LEFT.")
    size = f"{_WIDTH} {_ROW * top + _TALL + 16}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img">',
        "<title>The rooms of evenscore, each with arrows to the rooms it imports</title>",
        f"<style>{_STYLE}</style>",
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker>',
    ]
    for name, others in arrows.items():
        for other in sorted(others):
            lines.append(f'<path d="{_way(at[name], at[other])}" marker-end="url(#tip)"/>')
    for name, (x, y) in at.items():
        corner = f'x="{x - _BOX // 2}" y="{y - _TALL // 2}"'
        lines.append(f'<rect {corner} width="{_BOX}" height="{_TALL}" rx="5"/>')
        lines.append(f'<text x="{x}" y="{y + 5}">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _way(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Down; to a side first and then down; or down and then to the middle."""
    (x, y), (to_x, to_y) = start, end
    sign = 1 if to_x > x else -1
    if x == to_x:
        return f"M{x} {y + _TALL // 2}V{to_y - _TALL // 2}"
    if x == _COLUMNS["middle"]:
        return f"M{x + sign * _BOX // 2} {y}H{to_x}V{to_y - _TALL // 2}"
    return f"M{x} {y + _TALL // 2}V{to_y}H{to_x - sign * _BOX // 2}"


# ---------------------------------------------------------------------- the page


def about(number: int) -> str:
    """A count that is not meant to be exact: the nearest hundred, or the number if there are fewer.

    >>> about(37), about(1234)
    ('37', '1,200')
    """
    return f"{number if number < 100 else round(number, -2):,}"


def page_text() -> str:
    """The page: the prose, with the tables put in their places."""
    rooms = read_rooms()
    table = ["| room | what it is | files | lines | imports |", "|---|---|---:|---:|---|"]
    for room in rooms.values():
        names = ", ".join(f"`{name}`" for name in rooms if name in room.imports) or "no other room"
        table.append(
            f"| `{room.name}` | {room.purpose} | {about(len(room.files))} | "
            f"{about(room.n_lines)} | {names} |"
        )
    files = sorted((path for _, path in modules()), key=lambda path: (-lines_of(path), path))
    longest = ["| file | lines |", "|---|---:|"]
    for path in files[:_LONGEST]:
        longest.append(f"| `{path.relative_to(SOURCE).as_posix()}` | {about(lines_of(path))} |")
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{rooms}", "\n".join(table)).replace("{longest}", "\n".join(longest))


def picture_text() -> str:
    """The picture of the rooms."""
    return draw_rooms({name: room.imports for name, room in read_rooms().items()})


if __name__ == "__main__":
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture_text(), encoding="utf-8")
    PAGE.write_text(page_text(), encoding="utf-8")
