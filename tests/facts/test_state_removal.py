"""
A capture that lacks a frame never gives another frame to the wrong connection, direction or place.

The usual run leaves out a sample of the frames; with SMCR_TEST_ALL set, each frame of each capture is left out once.
"""

import os

import pytest
import removal


@pytest.mark.parametrize("name, every", removal.CAPTURES.items())
def test_no_frame_is_given_to_the_wrong_connection(tshark, scratch, name, every):
    results = list(removal.remove_each(tshark, name, scratch, 1 if os.environ.get("SMCR_TEST_ALL") else every))
    assert results and removal.attributed(tshark, name)
    print(f"{name}: {len(results)} removals; frames that lost their connection: {sum(each.lost for each in results)}, "
          f"only the TCP connection: {sum(each.lost_tcp for each in results)}")
    assert [wrong for each in results for wrong in each.wrong] == [], "removed, frame, what, before, after"
