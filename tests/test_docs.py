"""Documentation that is made from the code is up to date."""

import fields
from bed import TOP


def test_fields_are_documented(tshark):
    text = (TOP / "docs" / "fields.md").read_text(encoding="utf-8")
    assert text == fields.document(tshark), "docs/fields.md is stale: tests/fields-doc writes it"


def test_every_field_of_the_table_is_registered(tshark):
    registered = {row[0] for row in tshark.registered_fields()}
    assert {field.filter for field in fields.fields()} | {each.filter for each in fields.experts()} == registered
