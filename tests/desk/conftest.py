"""What tests of the desk share: a network of their own, where the machine gives one."""

import pytest
from network import NoNetwork, new_wire


@pytest.fixture
def wire():
    try:
        with new_wire() as wire:
            yield wire
    except NoNetwork as reason:
        pytest.skip(str(reason))
