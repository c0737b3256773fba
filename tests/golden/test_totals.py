"""
All output is what it was: the totals that tests/oracle keeps of fields, items, Info, reports and
tables.
"""

import subprocess

import bed
import pytest


@pytest.mark.skipif(not bed.ALL, reason="all captures in six ways: tests/run --all")
def test_totals():
    """Those of another release of Wireshark tell nothing: then there are none."""
    result = subprocess.run(
        [bed.TOP / "tests" / "oracle", "totals"], capture_output=True, text=True
    )
    if "there are no totals" in result.stderr:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]
