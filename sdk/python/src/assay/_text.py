"""Text for people: values from a server that may be anything, in terminals and notebooks."""

from __future__ import annotations

import html
from typing import Any, Iterable, List, Sequence, Tuple

#: Wider cells are cut.
_CELL = 40

#: Longer tables show their first and last rows only.
_ROWS = 12


def plain(text: str, most: int) -> str:
    """The text without what would move a terminal's cursor or reverse its direction, and with at most that many
    characters."""
    short = text if len(text) <= most else text[: max(most - 3, 0)] + "..."
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in short)


def cell(value: Any) -> str:
    """A value as it is shown in one cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return plain(value, _CELL)
    if isinstance(value, int) and value.bit_length() > 128:
        return "..."  # Python refuses to print very large ones
    return plain(str(value), _CELL)


def _excerpt(rows: Sequence[Any], most: int) -> Tuple[Sequence[Any], Sequence[Any]]:
    """The rows at the beginning and at the end that are shown."""
    if len(rows) <= most:
        return rows, ()
    return rows[: most // 2], rows[-most // 2 :]


def table_text(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], most: int = _ROWS) -> str:
    """A table for a terminal, with at most that many rows."""
    head, tail = _excerpt(rows, most)
    names = [plain(name, _CELL) for name in columns]
    lines = [[cell(value) for value in row] for row in [*head, *tail]]
    if tail:
        lines.insert(len(head), ["..."] * len(names))
    widths = [max([len(name)] + [len(line[i]) for line in lines]) for i, name in enumerate(names)]
    right = [_is_number_column(row[i] for row in rows) for i in range(len(names))]

    def text(cells: Sequence[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right)]
        return "  ".join(padded).rstrip()

    return "\n".join([title, *([text(names)] if names and rows else []), *map(text, lines)])


def table_html(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], most: int = _ROWS) -> str:
    """A table for a notebook."""
    head, tail = _excerpt(rows, most)
    lines: List[str] = ["<tr>" + "".join(f"<th>{_escape(name)}</th>" for name in columns) + "</tr>"]
    lines += map(_row_html, head)
    if tail:
        lines.append(_row_html(["..."] * len(columns)))
        lines += map(_row_html, tail)
    return f'<table class="assay"><caption>{_escape(title)}</caption>{"".join(lines)}</table>'


def _row_html(row: Iterable[Any]) -> str:
    return "<tr>" + "".join(f"<td>{_escape(cell(value))}</td>" for value in row) + "</tr>"


def _escape(text: str) -> str:
    return html.escape(plain(text, 200))


def _is_number_column(values: Iterable[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and not any(isinstance(value, (str, bool, list)) for value in present)
