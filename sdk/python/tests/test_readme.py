"""Runs what the README shows, in order, against the real program, and compares what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional

import pytest

import assay
from conftest import Demo, Server
from test_stream import DAY, HELLO, HOUR, bye, stream

README = Path(__file__).parent.parent / "README.md"

#: The same task with all clients.
CLIENTS = README.parents[2] / "docs" / "clients.md"

#: A block of Python, and the output below it, if it is shown.
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    name: str
    code: str
    output: Optional[str]


def read_blocks() -> List[Block]:
    text = README.read_text(encoding="utf-8")
    found: List[Block] = []
    for match in BLOCKS.finditer(text):
        heading = re.findall(r"^## (.*)$", text[: match.start()], re.MULTILINE)[-1]
        found.append(Block(f"{len(found) + 1} {heading}", match[1], match[2]))
    return found


class Ran(NamedTuple):
    output: str
    error: Optional[BaseException]


@pytest.fixture(scope="module")
def ran(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dict[str, Ran]]:
    """What each block has done. A block may use the names of those above it."""
    live = Server([stream(HELLO, HOUR, DAY, bye("key_revoked"))])
    names: Dict[str, object] = {"__name__": "__main__"}
    results = {}
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("readme"))
    try:
        for block in read_blocks():
            # The demo adds no events while it runs, so the stream is that of a server in this test.
            url = live.url if ".stream(" in block.code else demo.url
            code = block.code.replace("http://127.0.0.1:8080", url).replace("YOUR_FULL_KEY", demo.full)
            output, failed = io.StringIO(), None
            with contextlib.redirect_stdout(output):
                try:
                    exec(compile(code, f"README.md, block {block.name}", "exec"), names)
                except Exception as error:
                    failed = error
            text = output.getvalue().replace(url, "http://127.0.0.1:8080")
            # On a busy machine the demo takes seconds to start, and says so.
            results[block.name] = Ran(re.sub(r" \| [0-9]+ s old", "", text), failed)
        yield results
    finally:
        os.chdir(before)
        live.close()
        for value in names.values():
            if isinstance(value, assay.Client):
                value.close()


@pytest.mark.parametrize("block", read_blocks(), ids=[block.name for block in read_blocks()])
def test_a_block(block: Block, ran: Dict[str, Ran], request: pytest.FixtureRequest) -> None:
    output, error = ran[block.name]
    if ".stream(" in block.code:
        assert isinstance(error, assay.AssayError) and error.code == "key_revoked"
        assert [line.split()[:2] for line in output.splitlines()] == [["7-1", "hour"], ["7-2", "day"]]
        return
    assert error is None
    if block.output != output and request.config.getoption("--update"):
        text = README.read_text(encoding="utf-8")
        shown = f"{block.code}```\n```text\n"
        README.write_text(text.replace(f"{shown}{block.output}", shown + output), encoding="utf-8")
    else:
        assert (block.output or "") == output


def test_the_task_of_all_clients(demo: Demo, capsys: pytest.CaptureFixture[str]) -> None:
    found = BLOCKS.search(CLIENTS.read_text(encoding="utf-8"))
    assert found and found[2]
    exec(found[1].replace("http://127.0.0.1:8080", demo.url), {"__name__": "__main__"})
    output = capsys.readouterr().out
    assert output.startswith(found[2].removesuffix("…\n")) and output.count("\n") == 91


def test_the_readme_has_the_blocks() -> None:
    blocks = read_blocks()
    assert len(blocks) >= 13
    assert sum(block.output is not None for block in blocks) >= 10
    table = "".join(block.code for block in blocks[:2])
    assert "index_history" in table and len(table.splitlines()) < 30


def test_the_readme_names_every_method() -> None:
    text = README.read_text(encoding="utf-8")
    methods = {name for name in dir(assay.Client) if not name.startswith("_")} - {"close"}
    assert {name for name in methods if f"`{name}`" not in text} == set()
