"""Reports are what their goldens say, in every version of Wireshark. tests/golden/regenerate writes
them anew."""

import difflib

import pytest
import report_golden


@pytest.mark.parametrize("name", report_golden.chosen())
def test_report(tshark, name):
    path = report_golden.file_of(name)
    golden = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    assert len(golden) <= report_golden.LONGEST
    diff = list(
        difflib.unified_diff(
            golden, report_golden.text_of(tshark, name).splitlines(), "golden", "now", lineterm=""
        )
    )
    if diff:
        pytest.fail("\n".join(diff[:200]), pytrace=False)


def test_no_golden_without_capture():
    known = {report_golden.file_of(name) for name in report_golden.chosen()} | {
        report_golden.FOLDER / "chosen.txt"
    }
    assert set(report_golden.FOLDER.iterdir()) == known
