"""
An application whose first bytes are those of JXTA, a protocol that takes over the connection,
rejects what follows, and asks for more of it all the same.
"""

from smcsynth.story import Connection, linux_connection, linux_halves


def scene(capture):
    connection = Connection(
        linux_connection(capture, version=2).group, *linux_halves(16384), port=8099
    )
    connection.first_contact()
    connection.send("client", b"JXTAHELLO b9 \nc2s conn177f4de0746723a8abe99 \nc2s conn=001")
    connection.send(
        "client", b"JXTAHELLO tcp://192.0.2.1:1 tcp://192.0.2.2:2 urn:jxta:uuid-1 0 3.0\r\nfA01"
    )
    for length in (1, 2, 40):
        connection.send("client", b"fA01" * length)
    connection.close()
