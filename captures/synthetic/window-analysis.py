"""
A writer and a reader with an RMB element of 16 KiB, in every situation that the window analysis
knows.

Port 40001: three WRITEs under one acknowledgement; the window is full and the writer blocked, and
the reader takes 0.7 s (late update, window open again). Port 40002: cursor updates that the writer
asks for: one that is answered after 0.25 s, two of which the second is asked while the first waits,
one that is not needed because everything has been read, one that is never answered. Port 40003:
small windows: the reader tells of 100 bytes at a time, first while the window is wide open, then to
a blocked writer, who fills each of the small windows. After that the reader reads an urgent byte,
which it has to tell at once. Port 40004: the writer writes into space that has not been freed.
"""

from smcsynth.octets import text_lines
from smcsynth.story import Connection, Half, Rmb, linux_connection, linux_halves

ELEMENT = 16384


def small_connection(group, number):
    """The number-th connection of the group; its server has the smallest RMB element."""
    client, server = linux_halves(number=number)
    server = Half(token=server.token, rmb=Rmb(server.rmb.va, ELEMENT, server.rmb.rkeys))
    return Connection(group, client, server, sport=40000 + number)


def acknowledged_late_and_blocked(connection):
    capture, link = connection.group.capture, connection.group.links[1]
    for number in range(3):
        connection.write("client", text_lines(1000, f"write {number}"), ack=False)
    capture.wait(0.01)
    connection.cdc("client")
    connection.write("client", text_lines(ELEMENT - 3000, "fills the window"))
    connection.cdc("client", flags=["blocked"])
    capture.wait(0.7)
    connection.read("server")
    connection.cdc("server")
    connection.send("client", text_lines(500, "goes on"))
    link.ack("server")


def updates_asked(connection):
    capture = connection.group.capture
    connection.send("client", text_lines(300, "first"), flags=["update_requested"])
    capture.wait(0.25)
    connection.cdc("server")
    connection.cdc("client", flags=["update_requested"])
    connection.send("client", text_lines(300, "second"), flags=["update_requested"], read=False)
    capture.wait(0.1)
    connection.send("client", text_lines(300, "third"), flags=["update_requested"])
    capture.wait(0.1)
    connection.send("server", b"data, and the cursor that was asked for\n")
    connection.send("client", text_lines(300, "fourth"), flags=["update_requested"], read=False)


def small_windows(connection):
    connection.send("client", text_lines(1000, "wide open"), read=False)
    connection.read("server", 100)
    connection.cdc("server")
    rest = ELEMENT - 900
    connection.send("client", text_lines(rest, "fills the window"), flags=["blocked"], read=False)
    for number in range(4):
        connection.read("server", 100)
        connection.cdc("server")
        connection.send("client", text_lines(100, f"small {number}"), flags=["blocked"], read=False)
    connection.read("server")
    connection.cdc("server")
    connection.send("client", b"u", flags=["urgent_pending", "urgent_present"])
    connection.cdc("server")


def overwrite(connection):
    """The writer ignores that 1000 bytes have not been read."""
    connection.send("client", text_lines(1000, "not read yet"), read=False)
    server = connection.half["server"]
    announced, server.announced = server.announced, connection.half["client"].prod
    connection.send("client", text_lines(ELEMENT - 500, "500 bytes too many"), read=False)
    server.announced = announced


def scene(capture):
    group = linux_connection(capture).group
    connections = [small_connection(group, number) for number in range(1, 5)]
    for number, play in enumerate(
        (acknowledged_late_and_blocked, updates_asked, small_windows, overwrite)
    ):
        if number == 0:
            connections[number].first_contact()
        else:
            connections[number].subsequent_contact()
        play(connections[number])
    group.test_link("server")
