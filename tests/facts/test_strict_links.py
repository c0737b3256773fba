"""What only smcr.strict tells of links: it does no harm, or is doubtful."""

import pytest

STRICT = ("-o", "smcr.strict:TRUE")
ITEMS = (
    ("rule-link-data-early", {"smcr.link.no_second": [119]}),
    ("rule-link-asymmetric", {"smcr.link.asymmetric_kept": [105]}),
    ("rule-link-number", {"smcr.link.number_zero": [34]}),
    ("rule-link-user-id", {"smcr.link.user_id_reused": [18]}),
    ("rule-add-link", {"smcr.breach.doubtful": [51]}),
    ("rule-link-refused", {"smcr.breach.doubtful": [91]}),
)


@pytest.mark.parametrize(("name", "expected"), ITEMS)
def test_items(tshark, name, expected):
    rows = tshark.fields(
        name, "frame.number", *expected, where=" || ".join(expected), two_pass=True, options=STRICT
    )
    found = {
        item: [int(number[0]) for number, *shown in rows if shown[place]]
        for place, item in enumerate(expected)
    }
    assert found == expected


@pytest.mark.parametrize(("name", "expected"), ITEMS)
def test_nobody_else_is_told(tshark, name, expected):
    assert tshark.frames(name, " || ".join(expected), two_pass=True) == []
