"""The columns of rows: their order and what is in them, as the types in :mod:`assay.rows` say."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Sequence, Union, get_args, get_origin, get_type_hints

from .times import Day, Instant

#: What a column holds.
TIME, NUMBER, WHOLE, OTHER = "time", "number", "whole", "other"


class Columns:
    """The columns that a type of row has, and what they hold."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = kinds

    def names(self, rows: Sequence[Mapping[str, Any]]) -> List[str]:
        """The columns of these rows in order: without rows the known ones, otherwise those that the rows have."""
        if not rows:
            return list(self.kinds)
        present = dict.fromkeys(name for row in rows for name in row)
        known = [name for name in self.kinds if name in present]
        return known + [name for name in present if name not in self.kinds]


def of(row: type) -> Columns:
    """The columns of rows of a type."""
    return Columns(_kinds(row, ""))


def _kinds(row: type, prefix: str) -> Dict[str, str]:
    kinds: Dict[str, str] = {}
    for name, hint in get_type_hints(row).items():
        types = get_args(hint) if get_origin(hint) is Union else (hint,)
        inner = next((t for t in types if hasattr(t, "__required_keys__")), None)
        if inner is not None:
            kinds.update(_kinds(inner, prefix + name + "_"))
        else:
            kinds[prefix + name] = _kind(types)
    return kinds


def _kind(types: Sequence[Any]) -> str:
    if Instant in types or Day in types:
        return TIME
    if float in types:
        return NUMBER
    return WHOLE if int in types else OTHER


def flatten(row: Any, prefix: str = "", depth: int = 8) -> Dict[str, Any]:
    """A row without objects inside: a field ``inner`` of ``outer`` is ``outer_inner``, as in the tables of the API.
    What is deeper than any row of the API stays as it is."""
    flat: Dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict) and value and depth > 0:
            flat.update(flatten(value, f"{prefix}{name}_", depth - 1))
        else:
            flat[prefix + name] = value
    return flat
