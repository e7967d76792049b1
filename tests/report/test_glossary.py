from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from calibrant.report import TERMS, term
from calibrant.results.measurement import Measurement


def test_a_term_has_a_label_and_one_sentence() -> None:
    for name, found in TERMS.items():
        assert found.label, name
        assert found.meaning.endswith("."), name
        assert found.meaning[0].isupper(), name


def test_every_field_of_a_measurement_has_its_sentence() -> None:
    for field in fields(Measurement):
        assert term(field.name).meaning


def test_an_unknown_field_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        term("nothing")


def test_the_glossary_loads_no_templates_and_no_plots() -> None:
    code = "import sys, calibrant.report; assert not {'jinja2', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
