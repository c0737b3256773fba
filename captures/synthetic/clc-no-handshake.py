"""
The capture began after the TCP handshake: CLC messages on port 50000 without the option, to be
found by their eyecatcher.

Port 40001: from the Proposal on. Port 40002: the Proposal is missing, too; Accept and Confirm are
there.
"""

from smcsynth.story import linux_connection


def scene(capture):
    for nth, sport in enumerate((40001, 40002), 1):
        connection = linux_connection(capture, sport=sport, nth=nth)
        if sport == 40001:
            connection.tcp.send("client", connection.proposal())
        else:
            connection.tcp.seq["client"] += len(connection.proposal())
        connection.tcp.send("server", connection.accept())
        connection.tcp.send("client", connection.confirm())
        if sport == 40001:
            connection.group.confirm_link()
            connection.group.add_link_rejected()
            connection.send("client", b"found without the option\n")
            connection.close()
        else:
            connection.tcp.close()
