"""
HTTP over SMC-R on a port that is not HTTP's: Decode As, or Wireshark's heuristics, show it. A POST
whose head comes in three WRITEs, two requests in one WRITE, and a response that wraps the element
of 16 KiB twice.
"""

from smcsynth.octets import text_lines
from smcsynth.story import Connection, linux_connection, linux_halves

HOST = b"Host: server.example:8099\r\n"
BODY = text_lines(36_000, "payload-http-8099 body")
POST = b"POST /form HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\nanswer=42"


def response(body):
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )


def scene(capture):
    connection = Connection(
        linux_connection(capture, version=2).group, *linux_halves(16384), port=8099
    )
    connection.first_contact()
    for piece in (POST[:11], POST[11:30], POST[30:]):
        connection.send("client", piece)
    connection.send("server", response(b"thanks\n"))
    connection.send(
        "client",
        b"GET /big.txt HTTP/1.1\r\n" + HOST + b"\r\nGET /small.txt HTTP/1.1\r\n" + HOST + b"\r\n",
    )
    answers = response(BODY) + response(b"small\n")
    for start in range(0, len(answers), 9000):
        connection.send("server", answers[start : start + 9000])
        connection.cdc("client")
    connection.close()
