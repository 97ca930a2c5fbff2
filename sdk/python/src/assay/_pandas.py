"""Rows as a pandas DataFrame."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _columns

if TYPE_CHECKING:
    import pandas  # type: ignore[import]


def frame(
    rows: List[Dict[str, Any]], columns: _columns.Columns, index: Optional[str], exact: bool
) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas: pip install pandas") from None
    names = columns.names(rows)
    series = {name: _series(pandas, [row.get(name) for row in rows], columns.kinds.get(name), exact) for name in names}
    made = pandas.DataFrame(series, columns=names)
    return made.set_index(index) if index in names else made


def _series(pandas: Any, values: List[Any], kind: Optional[str], exact: bool) -> Any:
    if kind == _columns.TIME:
        return pandas.to_datetime(pandas.Series(values, dtype="object"), utc=True)
    if kind == _columns.NUMBER and exact:
        decimals = [Decimal(value) if isinstance(value, int) else value for value in values]  # 2 was sent for 2.0
        return pandas.Series(decimals, dtype="object")
    if kind == _columns.NUMBER:
        return pandas.Series(values, dtype="float64")
    if kind == _columns.WHOLE and None not in values:
        return pandas.Series(values, dtype="int64")
    return pandas.Series(values, dtype="float64" if kind == _columns.WHOLE else "object")
