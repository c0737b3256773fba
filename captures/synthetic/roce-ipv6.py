"""
SMC-Rv2 between hosts whose RoCE devices have global IPv6 GIDs, RoCEv2 over IPv6: v2 CLC messages,
v2 LLC messages. The TCP connection is IPv4: the GID's kind is told by its content, not by the TCP
connection.
"""

from smcsynth.octets import text_lines
from smcsynth.story import CLIENT_V2_IPV6, SERVER_V2_IPV6, linux_connection


def scene(capture):
    connection = linux_connection(capture, version=2, nics=(CLIENT_V2_IPV6, SERVER_V2_IPV6))
    connection.first_contact()
    connection.send("client", b"GET / HTTP/1.1\r\nHost: server.example\r\n\r\n")
    connection.send(
        "server", b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + text_lines(3000, "over IPv6")
    )
    capture.wait(30)
    connection.group.test_link("client")
    connection.close()
    connection.group.delete_link_group()
