"""The packages that are published: what is in them, and that they work where nothing else is."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import List

import pytest

import assay
from conftest import Demo
from test_readme import read_blocks

PROJECT = Path(__file__).parent.parent
VERSION = assay.__version__
INFO = f"assay_client-{VERSION}.dist-info"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel and the source distribution: ASSAY_PYTHON_DIST, or one that is built here."""
    if "ASSAY_PYTHON_DIST" in os.environ:
        return Path(os.environ["ASSAY_PYTHON_DIST"])
    folder = tmp_path_factory.mktemp("dist")
    # Debian's hatchling lacks a dependency that only editable installations need.
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    subprocess.run([*command, str(PROJECT)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(packages: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(packages / f"assay_client-{VERSION}-py3-none-any.whl")


def sources() -> List[str]:
    return sorted(path.name for path in (PROJECT / "src" / "assay").iterdir() if path.suffix == ".py")


def test_the_wheel_has_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    meta = [f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")]
    # Earlier releases of hatchling have another name for the folder of licenses.
    names = [name.replace("license_files/", "licenses/") for name in wheel.namelist()]
    assert sorted(names) == sorted([*(f"assay/{name}" for name in sources()), "assay/py.typed", *meta])


def test_the_source_distribution_builds_and_tests_itself(packages: Path) -> None:
    with tarfile.open(packages / f"assay_client-{VERSION}.tar.gz") as archive:
        members = archive.getmembers()
    assert all(member.isfile() for member in members)
    root = f"assay_client-{VERSION}/"
    names = {member.name[len(root) :] for member in members if member.name.startswith(root)}
    assert len(names) == len(members)
    tests = {f"tests/{path.name}" for path in (PROJECT / "tests").glob("*.py")}
    wanted = {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src/assay/py.typed", *tests}
    wanted |= {f"src/assay/{name}" for name in sources()}
    assert names - {".gitignore"} == wanted


def metadata(wheel: zipfile.ZipFile) -> Message:
    return BytesParser().parsebytes(wheel.read(f"{INFO}/METADATA"))


def test_the_metadata(wheel: zipfile.ZipFile) -> None:
    fields = metadata(wheel)
    assert (fields["Name"], fields["Version"], fields["Requires-Python"]) == ("assay-client", VERSION, ">=3.9")
    assert fields["License"] == "Apache-2.0"
    assert fields.get_all("Requires-Dist") == ["pandas>=1.5; extra == 'pandas'"]
    assert fields["Description-Content-Type"] == "text/markdown"
    assert fields.get_payload().startswith("# Assay for Python\n")
    urls = fields.get_all("Project-URL") or []
    assert urls and all(url.split(", ")[1].startswith("https://github.com/assaydata/assay/") for url in urls)


def test_the_readme_has_no_links_that_only_work_in_the_repository() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (PROJECT / "README.md").read_text(encoding="utf-8"))
    assert links and [link for link in links if not link.startswith("https://")] == []


def test_the_license_is_that_of_the_repository() -> None:
    root = PROJECT.parent.parent / "LICENSE"
    if root.exists():  # in the source distribution it does not
        assert (PROJECT / "LICENSE").read_bytes() == root.read_bytes()


def test_the_wheel_works_where_nothing_else_is(wheel: zipfile.ZipFile, demo: Demo, tmp_path: Path) -> None:
    """As installed: without this repository, without site-packages, and with every warning an error."""
    wheel.extractall(tmp_path / "site")
    block = read_blocks()[0]
    code = block.code.replace("http://127.0.0.1:8080", demo.url)
    code += "import os\nassert os.path.dirname(assay.__file__).endswith('site/assay')\n"
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        env={"PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == (block.output, "")


def test_the_types_are_seen_by_a_program_that_uses_them(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    program = tmp_path / "program.py"
    program.write_text(
        "import assay\n"
        'client = assay.Client("http://127.0.0.1:1")\n'
        'value: float = client.index_history("H100 SXM")[0]["index_value"]\n'
        'client.index_history("H100 SXM", startDate="2026-01-01")\n'
        'client.gpu_price("H100 SXM").data["price"]\n'
        "async def run() -> str:\n"
        '    return (await assay.AsyncClient().gpu_price("H100 SXM")).data["gpu_name"]\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.9", "--cache-dir=cache", "program.py"]
    env = {**os.environ, "MYPYPATH": str(tmp_path / "site")}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(": ")[0] for line in lines] == ["program.py:4", "program.py:5"], done.stdout
    assert 'Unexpected keyword argument "startDate"' in lines[0] and '"price"' in lines[1]


@pytest.mark.parametrize("path", sorted((PROJECT / "src" / "assay").glob("*.py")), ids=sources())
def test_a_source_is_python_3_9(path: Path) -> None:
    """Syntax, and unions that the oldest Python would compute: annotations are text, by the import of each file."""
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    annotated = any(isinstance(node, (ast.arg, ast.AnnAssign)) for node in ast.walk(tree))
    assert "from __future__ import annotations\n" in path.read_text(encoding="utf-8") or not annotated


def test_nothing_but_the_standard_library_is_imported() -> None:
    standard = getattr(sys, "stdlib_module_names", None)  # since Python 3.10
    found = set()
    for path in (PROJECT / "src" / "assay").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    if standard:
        assert found - set(standard) == {"pandas", "typing_extensions"}  # if it is installed; for type checkers only
