"""
The end of a link group, RFC 7609 3.5.4. Port 40000: the server deletes all links though a
connection is open; 50 milliseconds later the client asks CONFIRM RKEY on link 1. Port 40001: the
same, but the client's message crosses the server's. Port 40002: the client asks to delete all
links, and for six seconds the server does not.
"""

from smcsynth.llc import llc_confirm_rkey, llc_delete_link
from smcsynth.story import linux_connection

EXPECTED = {
    "smcr.lgr.connections_lost": [22],
    "smcr.link.after_delete": [24],
    "smcr.link.delete_asked": [88],
    "smcr.llc.collision": [65],
    "smcr.no_response": [24, 65, 88],
}
ALL = dict(link=0, reason=0x00030000, all_links=True)


def first_contact(capture, nth):
    connection = linux_connection(capture, sport=39999 + nth, nth=nth)
    connection.first_contact()
    connection.send("client", b"data\n")
    return connection


def ask_after_end(capture, group, pause):
    group.llc("server", llc_delete_link(**ALL))
    capture.wait(pause)
    group.llc("client", llc_confirm_rkey(rkey=0x0E0E0001, va=0x30C0000))


def scene(capture):
    ask_after_end(capture, first_contact(capture, 1).group, 0.05)
    second = first_contact(capture, 2)
    second.close()
    ask_after_end(capture, second.group, 0)

    third = first_contact(capture, 3)
    third.group.llc("client", llc_delete_link(**ALL))
    for _ in range(6):
        capture.wait(1)
        third.send("server", b"it goes on\n")
    third.close()
