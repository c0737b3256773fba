"""
Frames of MAC control that are odd: opcodes that are neither PAUSE nor PFC; PFC that names no class,
or reserved ones; 0 and 65,535 quanta; VLAN tags before the type; another destination; frames that
end or are cut within each part; RoCE between them.
"""

from smcsynth import roce
from smcsynth.octets import u16
from smcsynth.pause import PFC, SHORTEST, mac_control, pause, pfc
from smcsynth.story import CLIENT_V2, SERVER_V2

PORT = "02:00:00:00:00:99"
OPCODES = [*range(0, 8), 0x00FF, 0x0100, 0x0102, 0x8808, 0xFFFE, 0xFFFF]
HEADER = 14  # bytes of Ethernet
TAG = u16(0x8100) + u16(0x6007)


def scene(capture):
    link = roce.RoceLink(
        capture,
        roce.QueuePair(CLIENT_V2, 0x31, 0x400000),
        roce.QueuePair(SERVER_V2, 0x5D3, 0x500000),
        sport=49300,
    )
    link.write("client", 0x7F0000000000, 0x1234, b"before them")
    for opcode in OPCODES:
        capture.add(mac_control(PORT, opcode, bytes.fromhex("00ff") + b"\xff\xff" * 8))
    for vector in (0, 0x0100, 0xFF00, 0xFFFF):
        capture.add(pfc(PORT, dict.fromkeys(range(8), 0xFFFF), vector=vector))
    for quanta in (0, 1, 0xFFFF):
        capture.add(pause(PORT, quanta))
        capture.add(pfc(PORT, dict.fromkeys(range(8), quanta)))
    for tags in (1, 2, 3):
        capture.add(pause(PORT, 7, tags=TAG * tags))
    capture.add(pause(PORT, 7, to=SERVER_V2.mac))
    for end in (*range(HEADER, HEADER + 8), HEADER + 19):
        capture.add(pfc(PORT, {0: 9, 7: 9})[:end])
        number = capture.add(pfc(PORT, {0: 9, 7: 9}))
        capture.captured[number] = end
    capture.add(mac_control(PORT, PFC, size=SHORTEST - 42))
    link.write("client", 0x7F0000010000, 0x1234, b"after them")
