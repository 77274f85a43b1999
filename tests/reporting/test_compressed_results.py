"""``results.json.gz``: written on request, and read wherever ``results.json`` is."""

import gzip
import io
import json
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratiba_action.errors import ConfigurationError
from ratiba_action.history.artifacts import results_in
from ratiba_action.history.files import read_named_baseline
from ratiba_action.main import run
from ratiba_action.model.change import ChangedFiles
from ratiba_action.reporting.directory import write_report_directory
from ratiba_action.reporting.results_file import MAX_BYTES
from ratiba_action.reporting.results_json import (
    MAX_EXACT_BYTES,
    load_report,
    packed,
    read_results,
    render_results,
    write_baseline,
)
from ratiba_action.reporting.summary import summarise
from tests.support.sample_report import sample_report

SUMMARY = summarise(sample_report())
TEXT = render_results(SUMMARY).encode("ascii")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "results.json.gz").write_bytes(packed(TEXT))
    return tmp_path


def test_what_was_packed_is_the_same_report_and_the_same_bytes_again() -> None:
    assert load_report(packed(TEXT)) == load_report(TEXT)
    assert load_report(packed(TEXT), exact=True) == load_report(TEXT)
    assert packed(TEXT) == packed(TEXT)
    assert len(packed(TEXT)) < len(TEXT) / 2


def test_a_baseline_whose_name_ends_with_gz_is_compressed(tmp_path: Path) -> None:
    write_baseline(SUMMARY, tmp_path / "base" / "main.json.gz")
    assert gzip.decompress((tmp_path / "base" / "main.json.gz").read_bytes()) == TEXT
    assert read_results(tmp_path / "base" / "main.json.gz") == load_report(TEXT)


@pytest.mark.usefixtures("folder")
def test_every_command_that_reads_results_reads_them_compressed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.json").write_bytes(TEXT)
    Path("b.json.gz").write_bytes(packed(TEXT))
    assert run(["compare", "report", "report/results.json.gz", "b.json"], {}) == 0
    assert run(["report", "--json", "--results", "report"], {}) == 0
    assert run(["report", "--json"], {"RATIBA_REPORT_DIR": "report"}) == 0
    assert run(["report", "--diff", "b.json.gz", "--results", "report/results.json.gz"], {}) == 0
    assert "| C | `b.json` |" in capsys.readouterr().out


def test_a_folder_of_baselines_has_each_run_once(folder: Path) -> None:
    (folder / "runs").mkdir()
    for name, content in (("a.json", TEXT), ("a.json.gz", packed(TEXT)), ("b.json.gz", packed(TEXT))):
        (folder / "runs" / name).write_bytes(content)
    found = read_named_baseline("runs", folder, ChangedFiles(()), pooled=9)
    assert (len(found.runs), found.notes) == (2, ())


def test_an_artifact_may_hold_compressed_results() -> None:
    def archive(**files: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as opened:
            for name, content in files.items():
                opened.writestr(name.replace("_", "."), content)
        return buffer.getvalue()

    assert load_report(results_in(archive(results_json_gz=packed(TEXT)))) == load_report(TEXT)
    assert results_in(archive(results_json_gz=b"other", results_json=TEXT)) == TEXT


def test_the_report_command_compresses_the_last_run_and_a_new_run_removes_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_report_directory(SUMMARY, tmp_path / "ratiba-report")
    assert run(["report", "--compress", "--json"], {}) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["unpacked_bytes"] == len(TEXT)
    assert gzip.decompress((tmp_path / output["file"]).read_bytes()) == TEXT
    write_report_directory(SUMMARY, tmp_path / "ratiba-report")
    assert not (tmp_path / output["file"]).exists()


def bomb(size: int) -> bytes:
    """So many spaces in a thousandth of their bytes."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    parts = [packer.compress(b" " * min(1_000_000, size - at)) for at in range(0, size, 1_000_000)]
    return b"".join([*parts, packer.flush()])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (bomb(MAX_BYTES + 1), "more than 250,000,000 bytes when it is unpacked"),
        (packed(TEXT)[:-20], "its end is missing"),
        (packed(TEXT) + b"x", "something follows its end"),
        (packed(TEXT) + packed(TEXT), "something follows its end"),
        (packed(TEXT)[:40] + b"\xff\xff\xff\xff" + packed(TEXT)[44:], "could not be read"),
        (packed(b"[]"), "has schema"),
        (packed(packed(TEXT)), "could not be read as JSON"),
        (b"\x1f\x8b", "its end is missing"),
    ],
    ids=["bomb", "torn", "tail", "two", "damaged", "other", "twice", "magic"],
)
def test_a_bomb_and_a_damaged_file_are_refused(content: bytes, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        load_report(content)


def test_what_is_not_trusted_may_have_twenty_megabytes(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="more than 20,000,000 bytes when it is unpacked"):
        load_report(bomb(MAX_EXACT_BYTES + 1), exact=True)
    (tmp_path / "results.json").write_bytes(TEXT + b" " * MAX_EXACT_BYTES)
    assert read_results(tmp_path / "results.json") == load_report(TEXT)
    with pytest.raises(ConfigurationError, match="at most 20,000,000 are read"):
        read_results(tmp_path / "results.json", exact=True)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_no_bytes_end_in_anything_but_a_refusal(noise: bytes, at: int) -> None:
    whole = packed(TEXT)
    with pytest.raises(ConfigurationError):
        load_report(whole[:at] + noise)


def test_compressing_what_is_no_result_or_compressed_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "no.json").write_text("[]")
    assert run(["report", "--compress", "--results", "no.json"], {}) == 2
    assert run(["report", "--compress", "--results", "missing.json"], {}) == 2
    assert run(["report", "--compress", "--results", "report"], {}) == 2
    assert "is compressed already" in capsys.readouterr().err
    assert not (folder / "no.json.gz").exists()
