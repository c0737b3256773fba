"""
ADD LINK rejected, RFC 7609 A.3.2: reason 1 (no alternate path), 2 (invalid MTU) and 7, which means
nothing, in version 1. In version 2 the length covers the reason; a rejection carries none. Port
40001 version 1, port 40002 version 2.
"""

from smcsynth.story import linux_connection


def scene(capture):
    for version, reasons in ((1, (1, 2, 7)), (2, (0,))):
        connection = linux_connection(capture, version=version, sport=40000 + version, nth=version)
        connection.first_contact(add_link=False)
        for number, reason in enumerate(reasons):
            connection.group.add_link_rejected(reason=reason, number=2 + number)
        connection.send("client", b"one link will do\n")
        connection.close()
