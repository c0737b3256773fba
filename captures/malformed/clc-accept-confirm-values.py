"""
Values that Accept and Confirm may not have, RFC 7609 A.2.3 and A.2.4: MTU codes 0, 6 and 15, buffer
size codes 6 and 15, RMBE index 0, queue pair number 0; in version 2 a first contact extension that
is cut, a GID list longer than the message (count 255), release 15. Ports from 40001 in this order;
the value is in Accept and in Confirm.
"""

from smcsynth.octets import patch, u8
from smcsynth.story import clc_conversation, linux_connection

QPN, INDEX, SIZE_MTU, OS_RELEASE, GID_COUNT = 38, 45, 50, 105, 156
CHANGES = [
    (SIZE_MTU, b"\x20"),
    (SIZE_MTU, b"\x26"),
    (SIZE_MTU, b"\x2f"),
    (SIZE_MTU, b"\x63"),
    (SIZE_MTU, b"\xf3"),
    (INDEX, b"\x00"),
    (QPN, bytes(3)),
]


def scene(capture):
    v1, v2 = linux_connection(capture), linux_connection(capture, version=2)
    for number, (offset, value) in enumerate(CHANGES):
        clc_conversation(
            capture,
            40001 + number,
            ("client", v1.proposal()),
            ("server", patch(v1.accept(), offset, value)),
            ("client", patch(v1.confirm(), offset, value)),
        )
    cut = b"\x80\x20" + bytes(10)
    clc_conversation(
        capture,
        40011,
        ("client", v2.proposal()),
        ("server", v2.accept(fce=cut)),
        ("client", v2.confirm(fce=cut, gids=None)),
    )
    clc_conversation(
        capture,
        40012,
        ("client", v2.proposal()),
        ("server", v2.accept()),
        ("client", patch(v2.confirm(), GID_COUNT, u8(255))),
    )
    clc_conversation(
        capture,
        40013,
        ("client", v2.proposal()),
        ("server", patch(v2.accept(), OS_RELEASE, b"\x2f")),
        ("client", patch(v2.confirm(), OS_RELEASE, b"\x2f")),
    )
