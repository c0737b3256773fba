"""
LLC messages of types that nobody defined, RFC 7609 A.3: the two high bits 10 make a type optional,
to be discarded in silence; other unknown types are of no RFC. Optional 0x80 to 0xbf, then 0x0c,
0x2f, 0x3f and 0x40, then data again.
"""

from smcsynth.llc import llc_message
from smcsynth.story import linux_connection


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    for message_type in range(0x80, 0xC0):
        connection.group.llc("client", llc_message(message_type, bytes(range(40))))
    for message_type in (0x0C, 0x2F, 0x3F, 0x40):
        connection.group.llc("server", llc_message(message_type, bytes(range(40))))
    connection.send("client", b"still here\n")
    connection.close()
