"""What responses look like in a terminal and in a notebook, and as a DataFrame."""

from __future__ import annotations

import datetime
import importlib
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, List, get_type_hints

import pytest

from assay import AssayError, Meta, Record, Table, parse_day, parse_instant, routes, rows
from assay._call import Call, query

SOURCE = Path(__file__).parent.parent / "src"

META = Meta(synthetic=True)

#: The type of a column of times.
UTC = "datetime64[ns, UTC]"


def read(call: Call[Any], body: Dict[str, Any], meta: Meta = META) -> Any:
    return call.read(body, meta)


def history(count: int, value: Any = 1.25) -> Any:
    day = datetime.datetime(2026, 1, 1, 21)
    data = [
        {"timestamp": (day + datetime.timedelta(i)).strftime("%Y-%m-%dT%H:%M:%S.000Z"), "index_value": value}
        for i in range(count)
    ]
    body = {"gpu_type": "H100 SXM", "region": "global", "access": "public-3mo", "granularity": "daily", "data": data}
    return read(routes.index_history("H100 SXM"), {"success": True, "count": count, "has_more": False, **body})


def test_a_table_in_a_terminal() -> None:
    assert repr(history(2)) == (
        "H100 SXM | global | daily | access public-3mo | synthetic data | 2 rows\n"
        "timestamp                 index_value\n"
        "2026-01-01T21:00:00.000Z         1.25\n"
        "2026-01-02T21:00:00.000Z         1.25"
    )


def test_a_long_table_is_shortened() -> None:
    lines = repr(history(400)).splitlines()
    assert len(lines) == 2 + 13
    assert lines[0].endswith("400 rows") and lines[8].split() == ["...", "..."]
    assert lines[-1].startswith("2027-02-04")
    assert history(400)._repr_html_().count("<tr>") == 1 + 13


def test_an_empty_table_says_so() -> None:
    assert repr(history(0)).endswith("| 0 rows")
    assert "<th>index_value</th>" in history(0)._repr_html_()


def test_a_table_is_a_sequence() -> None:
    table = history(3)
    assert len(table) == 3 and table[0] == table.rows[0] and table[1:] == table.rows[1:]
    assert [row["index_value"] for row in table] == [1.25] * 3
    assert bool(table) and not bool(history(0))


def test_a_record_in_a_terminal_and_a_notebook() -> None:
    body = {"access": "full", "data": {"gpu_name": "H100 SXM", "index_value": 2, "stats": {"low": 1, "high": None}}}
    record = read(routes.gpu_price("H100 SXM"), body)
    assert repr(record) == (
        "access full | synthetic data\n"
        "field        value\n"
        "gpu_name     H100 SXM\n"
        "index_value  2\n"
        "stats_low    1\n"
        "stats_high"
    )
    assert "<td>stats_low</td><td>1</td>" in record._repr_html_()


EVIL = '<script>alert("x")</script>&\x1b[2J\u202e' + "y" * 100


def test_a_hostile_server_shows_only_text() -> None:
    body = {"gpu_type": EVIL, "access": EVIL, "data": [{EVIL: EVIL, "n": 10**5000, "deep": {"a": {EVIL: [EVIL]}}}]}
    table = read(routes.index_history("x"), body)
    record = read(routes.gpu_price("x"), {**body, "data": body["data"][0]})
    for result in (table, record):
        page, text = result._repr_html_(), repr(result)
        assert "<script" not in page and 'alert("' not in page and "&lt;script&gt;" in page
        for shown in (page, text):
            assert all(c.isprintable() or c == "\n" for c in shown)
            assert len(shown) < 5000


def test_a_wide_row_is_cut() -> None:
    wide = {f"column{i}": i for i in range(10_000)}
    for shown in (repr(Table([wide], {})), Table([wide], {})._repr_html_(), repr(Record(wide, {}))):
        assert len(shown) < 5000


def test_deep_rows_are_shown() -> None:
    deep: Dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    assert "a_a_a_a" in repr(Record(deep, {}))
    assert "1 row" in repr(Table([deep], {}))


# pandas


def test_a_series_as_a_data_frame() -> None:
    frame = history(3).to_pandas()
    assert type(frame.index).__name__ == "DatetimeIndex" and str(frame.index.dtype) == "datetime64[ns, UTC]"
    assert frame.index.name == "timestamp" and list(frame.columns) == ["index_value"]
    assert str(frame.index[0]) == "2026-01-01 21:00:00+00:00"
    assert str(frame["index_value"].dtype) == "float64" and frame["index_value"].sum() == 3.75


def test_whole_and_missing_numbers_are_floats() -> None:
    frame = history(3, 2).to_pandas()
    assert str(frame["index_value"].dtype) == "float64"
    nothing = history(3, None).to_pandas()
    assert str(nothing["index_value"].dtype) == "float64" and nothing["index_value"].isna().all()


def test_exact_numbers_stay_exact() -> None:
    prices = (Decimal("1.10"), 2, None)
    data = [{"timestamp": "2026-01-01T21:00:00.000Z", "index_value": price} for price in prices]
    frame = read(routes.index_history("x"), {"data": data}, Meta(decimal=True)).to_pandas()
    values: List[Any] = list(frame["index_value"])
    assert values == [Decimal("1.10"), Decimal(2), None]
    assert [type(value) for value in values] == [Decimal, Decimal, type(None)]


@pytest.mark.parametrize(
    "call, columns",
    [
        (routes.index_history("x"), {"index_value": "float64"}),
        (
            routes.gpu_prices(),
            {"gpu_name": "object", "region": "object", "index_value": "float64", "last_updated": UTC},
        ),
        (
            routes.history_range("x"),
            {
                "recorded_at": UTC,
                "index_value": "float64",
                "data_type": "object",
                "daily_stats_min_index": "float64",
                "daily_stats_max_index": "float64",
                "daily_stats_std_dev": "float64",
                "daily_stats_samples_count": "int64",
            },
        ),
        (routes.coding_history("x"), {"value": "float64", "value2": "float64", "partial": "object"}),
    ],
    ids=["series", "prices", "nested", "optional"],
)
def test_an_empty_table_has_the_same_columns(call: Call[Any], columns: Dict[str, str]) -> None:
    frame = read(call, {"data": []}).to_pandas()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == columns
    assert len(frame) == 0


def test_unknown_fields_are_columns() -> None:
    body = {"data": [{"timestamp": "2026-01-01T21:00:00.000Z", "index_value": 1.5, "later": {"a": 1}}]}
    frame = read(routes.index_history("x"), body).to_pandas()
    assert list(frame.columns) == ["index_value", "later_a"]


def test_without_pandas_the_error_says_what_to_do() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from assay import Table\n"
        "try: Table([], {}).to_pandas()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("to_pandas needs pandas: pip install pandas\n", "")


# Times and parameters


def test_times_are_parsed() -> None:
    utc = datetime.timezone.utc
    assert parse_instant("2026-02-03T21:00:00.123Z") == datetime.datetime(2026, 2, 3, 21, 0, 0, 123000, utc)
    assert parse_instant("2026-02-03T21:00:00.000Z").utcoffset() == datetime.timedelta(0)
    assert parse_day("2026-02-03") == datetime.date(2026, 2, 3)


def numpy_int(value: int) -> Any:
    return importlib.import_module("numpy").int64(value)


NEW_YORK = datetime.timezone(datetime.timedelta(hours=-5))


@pytest.mark.parametrize(
    "value, text",
    [
        (None, ""),
        ("a b&c=d+e", "p=a%20b%26c%3Dd%2Be"),
        ("", "p="),
        (3, "p=3"),
        (True, "p=true"),
        (False, "p=false"),
        (0.00001, "p=0.00001"),
        (-12.5, "p=-12.5"),
        (datetime.date(2026, 2, 3), "p=2026-02-03"),
        (datetime.datetime(2026, 2, 3, 4, 5), "p=2026-02-03T04%3A05%3A00%2B00%3A00"),
        (datetime.datetime(2026, 2, 3, 4, 5, tzinfo=NEW_YORK), "p=2026-02-03T04%3A05%3A00-05%3A00"),
        (["hour", "day"], "p=hour&p=day"),
        (Decimal("1e-9"), "p=0.000000001"),
        (Fraction(1, 4), "p=0.25"),
        (numpy_int(5), "p=5"),
        ("é", "p=%C3%A9"),
    ],
)
def test_parameters_are_sent_as_the_api_reads_them(value: Any, text: str) -> None:
    assert query({"p": value}) == text


def test_a_box_is_four_numbers() -> None:
    boxes: List[Any] = [[-10, 35.5, 30, 70], "-10,35.5,30,70"]
    for box in boxes:
        assert routes.sites_map(bbox=box).target == "/api/neocloud/map?bbox=-10%2C35.5%2C30%2C70"


def test_types_of_rows_can_be_read() -> None:
    """Tools that check data at run time read them, also on the oldest Python."""
    kinds = [kind for kind in vars(rows).values() if hasattr(kind, "__required_keys__")]
    assert len(kinds) > 30
    for kind in kinds:
        assert get_type_hints(kind)


def test_errors_survive_a_process() -> None:
    error = AssayError("too_many", "Wait.", status=429, retry_after=5, allowed=("a",))
    copied = pickle.loads(pickle.dumps(error))
    assert str(copied) == str(error) and vars(copied) == vars(error)
