"""
SMC-Rv2 on VLAN 7, its RoCE packets in class 3. The server's port pauses class 3 for 40 ms by PFC
frames, and the client's WRITEs stand still; then twice for a short time. A PFC frame of the
client's port names classes 0 and 5, in which nothing is sent. PAUSE frames of the server's port
stop all classes for 30 ms.
"""

from smcsynth.octets import text_lines
from smcsynth.pause import pause, pfc
from smcsynth.story import CLIENT_V2, SERVER_V2, linux_connection

MILLISECOND = 0.001
ROCE_CLASS = 3
STEP = 0.0001  # time that a frame takes in a capture, seconds


def of_class(frame, priority):
    """The frame with another priority in its VLAN tag."""
    return frame[:14] + bytes([frame[14] & 0x1F | priority << 5]) + frame[15:]


def is_roce(frame):
    """UDP to port 4791, over IPv4 and a VLAN tag."""
    return frame[12:14] == b"\x81\x00" and frame[27:28] == b"\x11" and frame[40:42] == b"\x12\xb7"


def put_roce_into_its_class(capture):
    capture.frames = [
        (when, of_class(frame, ROCE_CLASS) if is_roce(frame) else frame)
        for when, frame in capture.frames
    ]


def hold(capture, frame_of, milliseconds):
    """Frames renew a pause each millisecond, and the last one ends it."""
    for left in range(milliseconds, -1, -1):
        capture.add(frame_of(0xFFFF if left else 0))
        capture.wait(MILLISECOND - STEP)


def talk(connection, times):
    for number in range(times):
        connection.send("client", text_lines(3000, f"request {number}"))
        connection.send("server", b"done\n")


def scene(capture):
    connection = linux_connection(capture, version=2, vlan=7)
    connection.first_contact()
    talk(connection, 4)
    hold(capture, lambda quanta: pfc(SERVER_V2.mac, {ROCE_CLASS: quanta}), 40)
    talk(connection, 2)
    for _ in range(2):
        capture.add(pfc(SERVER_V2.mac, {ROCE_CLASS: 100}))
        talk(connection, 1)
    capture.add(pfc(CLIENT_V2.mac, {0: 10, 5: 0xFFFF}))
    talk(connection, 1)
    hold(capture, lambda quanta: pause(SERVER_V2.mac, quanta), 30)
    talk(connection, 2)
    connection.close()
    put_roce_into_its_class(capture)
