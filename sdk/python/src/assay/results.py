"""What the methods of a client return.

A :class:`Record` has one object, a :class:`Table` has rows. Rows are dictionaries as the API sends them, with fields
that this version does not know, too. Everything around them in the response is in ``envelope``.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union, overload

from . import _columns, _text

if TYPE_CHECKING:
    import pandas  # type: ignore[import]

Row = TypeVar("Row")

#: No record of the API has as many fields. Those of another server are cut.
_FIELDS = 80

#: No table has as many columns.
_COLUMNS = 40


@dataclass(frozen=True)
class Meta:
    """What is known of a response besides its body."""

    #: What to quote in a report.
    request_id: str = ""
    #: Whether the data is made up, as that of ``assay demo`` is.
    synthetic: bool = False
    #: How old the server's data is, in seconds, if it has lost its database.
    stale_seconds: int = 0
    #: Whether numbers that are not whole are ``Decimal`` objects, because the client was made with ``decimal=True``.
    decimal: bool = False


class _Result:
    """What records and tables have in common."""

    def __init__(self, envelope: Mapping[str, Any], meta: Meta) -> None:
        #: The members of the response around its data.
        self.envelope = envelope
        self.meta = meta

    @property
    def access(self) -> Optional[str]:
        """The access level that served the response: ``public-3mo``, ``public-1mo``, ``premium`` or ``full``."""
        return self._word("access")

    @property
    def granularity(self) -> Optional[str]:
        """The grain that was served, which may be coarser than the one requested."""
        return self._word("granularity")

    def _word(self, name: str) -> Optional[str]:
        value = self.envelope.get(name)
        return value if isinstance(value, str) else None

    def _title(self, *more: str) -> str:
        """What the response is about, in one line."""
        names = ("gpu_type", "memoryType", "product", "lab", "family", "region", "granularity")
        words = [word for word in map(self._word, names) if word]
        words += [f"access {self.access}"] if self.access else []
        words += [f"{self.meta.stale_seconds} s old"] if self.meta.stale_seconds else []
        words += ["synthetic data"] if self.meta.synthetic else []
        return " | ".join(_text.plain(word, 60) for word in [*words, *more])


class Record(_Result, Generic[Row]):
    """A response with one object."""

    def __init__(self, data: Row, envelope: Mapping[str, Any], meta: Meta = Meta()) -> None:
        super().__init__(envelope, meta)
        self.data = data

    def __repr__(self) -> str:
        return _text.table_text(self._title() or "record", ("field", "value"), self._fields(), _FIELDS)

    def _repr_html_(self) -> str:
        return _text.table_html(self._title() or "record", ("field", "value"), self._fields(), _FIELDS)

    def _fields(self) -> List[Tuple[str, Any]]:
        return list(_columns.flatten(self.data).items())


class Table(_Result, Generic[Row]):
    """A response with rows: a sequence of dictionaries that shows itself as a table."""

    def __init__(
        self,
        rows: List[Row],
        envelope: Mapping[str, Any],
        meta: Meta = Meta(),
        *,
        columns: Optional[_columns.Columns] = None,
        index: Optional[str] = None,
    ) -> None:
        super().__init__(envelope, meta)
        self.rows = rows
        self._columns = columns or _columns.Columns({})
        self._index = index

    @property
    def has_more(self) -> bool:
        """Whether a limit has cut rows off."""
        return self.envelope.get("has_more") is True

    @property
    def next(self) -> Optional[str]:
        """The cursor to send as ``since`` the next time, in the lists of corrections."""
        return self._word("next")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> List[Row]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Row, List[Row]]:
        return self.rows[index]

    def __repr__(self) -> str:
        return _text.table_text(self._count(), *self._cells())

    def _repr_html_(self) -> str:
        return _text.table_html(self._count(), *self._cells())

    def _count(self) -> str:
        count = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        return self._title(count + (", and there are more" if self.has_more else ""))

    def _cells(self) -> Tuple[List[str], List[List[Any]]]:
        flat = [_columns.flatten(row) for row in self.rows]
        names = self._columns.names(flat)[:_COLUMNS]
        return names, [[row.get(name) for name in names] for row in flat]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a DataFrame. Instants and days are timestamps in UTC, and those of a series are its index;
        numbers are float64, or ``Decimal`` objects if the client has ``decimal=True``. A field inside another is
        ``outer_inner``. An empty table has the same columns and types. Needs pandas."""
        from . import _pandas

        rows = [_columns.flatten(row) for row in self.rows]
        return _pandas.frame(rows, self._columns, self._index, self.meta.decimal)


@dataclass(frozen=True)
class Download:
    """Rows as a file: CSV, NDJSON or Parquet."""

    #: The file.
    content: bytes
    #: A file name that says what is in it.
    name: str
    media_type: str

    def __repr__(self) -> str:
        return f"Download({self.name!r}, {len(self.content)} bytes)"

    def text(self) -> str:
        """The file as text: of CSV and NDJSON."""
        return self.content.decode("utf-8")

    def save(self, to: Union[str, os.PathLike[str]] = ".") -> str:
        """Writes the file and returns its path. In a folder it gets its own name. It replaces a file of that name at
        once, so that no reader sees a part of it."""
        path = os.fspath(to)
        if os.path.isdir(path):
            path = os.path.join(path, self.name)
        part = f"{path}.{secrets.token_hex(4)}.part"
        with open(part, "xb") as file:  # not through a link that someone else has put there
            try:
                file.write(self.content)
                file.close()
                os.replace(part, path)
            except BaseException:
                file.close()
                os.remove(part)
                raise
        return path

