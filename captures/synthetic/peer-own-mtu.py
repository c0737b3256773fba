"""
Each side names its own MTU, RFC 7609 A.2.3: the Accept has 1024, the Confirm 4096. Packets keep to
the smaller one.
"""

from smcsynth.story import linux_connection

EXPECTED = {}


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact(confirm=connection.confirm(mtu_code=5))
    connection.send("client", bytes(3000))
    connection.send("server", b"received\n")
    connection.close()
