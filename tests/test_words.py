"""The list of words that texts do not use, and the script that finds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PAGE = """\
# Recalibrate

A map can mend the scores.

- What is undefined is `None`.
- A question may begin so: what is undefined?

| number | meaning |
|---|---|
| n | Whether it is known. |
"""
CODE = '''\
"""Do something."""

SEEN = mend  # identifiers and names of files are not prose: mend.csv


def use(mend: str) -> str:
    """Return what `mend` holds; ``seldom`` is code, and "seldom" is quoted.

    Examples
    --------
    >>> use("whatever stands here")
    'whatever stands here'
    """
    # This comment is seldom read.
    return f"the doubt about {mend}"
'''


def found(root: Path, folder: Path, name: str, text: str) -> tuple[int, list[str]]:
    """Return the exit code of the script for a file, and its lines without the path."""
    page = folder / name
    page.write_text(text, encoding="utf-8")
    command = [sys.executable, str(root / "scripts" / "words.py"), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, [line.removeprefix(f"{page}:") for line in done.stdout.splitlines()]


def test_words_and_openings_of_the_list_are_found_with_their_line_in_a_page(
    root: Path, tmp_path: Path
) -> None:
    code, lines = found(root, tmp_path, "page.md", PAGE)
    assert code == 1
    assert [line.split(": write ")[0] for line in lines] == [
        '3: "mend"',
        '5: "What is undefined is ~~~~~~."',
        '10: "Whether it is known."',
    ]
    assert lines[0].endswith("write recalibrate, correct")


def test_strings_and_comments_of_a_module_are_read_and_its_code_is_not(root: Path, tmp_path: Path) -> None:
    code, lines = found(root, tmp_path, "module.py", CODE)
    assert code == 1
    assert sorted(line.split(": write ")[0] for line in lines) == ['14: "seldom"', '15: "doubt"']


def test_code_links_and_quotations_of_a_page_are_not_read(root: Path, tmp_path: Path) -> None:
    text = 'Run `mend`, see [the page](mend.md), or call it "mend".\n\n```text\nmend what stands here\n```\n'
    assert found(root, tmp_path, "page.md", text) == (0, [])
