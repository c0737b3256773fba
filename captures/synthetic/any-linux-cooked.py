"""
A whole SMC-Rv2 story captured with `tcpdump -i any`: Linux cooked headers in place of Ethernet
ones.
"""

from smcsynth.capture import LINKTYPE_LINUX_SLL, linux_cooked
from smcsynth.story import linux_connection

LINKTYPE = LINKTYPE_LINUX_SLL


def scene(capture):
    connection = linux_connection(capture, version=2)
    connection.first_contact()
    connection.send("client", b"any interface\n")
    connection.send("server", b"will do\n")
    connection.close()
    capture.encapsulate(linux_cooked)
