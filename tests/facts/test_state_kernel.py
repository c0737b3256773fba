"""What the kernels reported of their state while a capture was taken is what the plugin knows after
some frame of it."""

import ipaddress
import itertools
import re
import types

import ground_truth
import kernel
import pytest
import traffic

# Captures without CONFIRM LINK, the message that tells a link's number and user IDs.
NO_CONFIRM_LINK = {
    "6.1-v1-c2-capture-starts-late",  # it was before the capture
    "6.1-v1-f6-decline-confirm-link-timeout",  # it was lost
    "6.1-v2-f6-decline-confirm-link-timeout",
}
# Links that the kernels were still setting up when asked, and that no packet was sent on: the
# server looked for the client's second device on the wrong network.
NO_PACKET = {("6.1-v1-h3-asymmetric-links", 2)}
LGR_TYPE = re.compile(
    r"The link group is now of type (SINGLE|SYMMETRIC)"
)  # words of the kernels' log
FIELDS = (
    "frame.number",
    "eth.src",
    "smcr.clc.type",
    "smcr.llc.type",
    "smcr.llc.response",
    "smcr.client.port",
    "smcr.token",
    "smcr.cdc.token",
    "smcr.cdc.prod_wrap",
    "smcr.cdc.prod",
    "smcr.cdc.cons_wrap",
    "smcr.cdc.cons",
    "smcr.cdc.failover",
    "smcr.link.index",
    "smcr.link.number",
    "smcr.link.user_id",
    "smcr.gid",
    "_ws.expert.message",
)
CONFIRM_LINK = (0x01, 0x21)


def cases(reports):
    """Captures in which the kernels reported something of this kind."""
    return [name for name in ground_truth.names() if any(reports(name))]


@pytest.fixture(scope="module")
def seen(request, tshark):
    """A real capture: its name and its frames."""
    return types.SimpleNamespace(
        name=request.param, rows=traffic.rows(tshark, request.param, *FIELDS, where="smcr")
    )


with_sockets = pytest.mark.parametrize("seen", cases(kernel.sockets), indirect=True, scope="module")
with_links = pytest.mark.parametrize("seen", cases(kernel.links), indirect=True, scope="module")
with_logs = pytest.mark.parametrize(
    "seen", cases(lambda name: kernel.links_added(name, 0)), indirect=True, scope="module"
)


def of_connection(seen, socket):
    return [row for row in seen.rows if row["smcr.client.port"] == [str(socket.client_port)]]


def sent_by(host, rows):
    return [row for row in rows if traffic.sender(row["eth.src"][0]) == host]


def gids(row):
    return {ipaddress.ip_address(text) for text in row["smcr.gid"]} - {ipaddress.ip_address("::")}


def numbers(values):
    return [int(value, 0) for value in values]


def cursors(rows):
    """(producer, consumer) of CDC messages, and those before the first one."""
    yield (0, 0), (0, 0)
    for row in rows:
        if row["smcr.cdc.prod"] and row["smcr.cdc.failover"] in (["0"], ["False"]):
            prod_wrap, prod, cons_wrap, cons = (
                int(row[f"smcr.cdc.{name}"][0])
                for name in ("prod_wrap", "prod", "cons_wrap", "cons")
            )
            yield (prod_wrap, prod), (cons_wrap, cons)


@with_sockets
def test_token(seen):
    """A host's token is in its Accept or Confirm, and in every CDC message that its peer sends on
    the connection."""
    for socket in kernel.sockets(seen.name):
        rows = of_connection(seen, socket)
        announced = [
            numbers(row["smcr.token"])
            for row in sent_by(socket.host, rows)
            if row["smcr.clc.type"] in (["2"], ["3"])
        ]
        assert announced == [[socket.token]], socket
        assert all(
            numbers(row["smcr.cdc.token"]) in ([], [socket.token])
            for row in sent_by(1 - socket.host, rows)
        )


@with_sockets
def test_received_cursors(seen):
    for socket in kernel.sockets(seen.name):
        received = set(cursors(sent_by(1 - socket.host, of_connection(seen, socket))))
        assert (socket.received_prod, socket.received_cons) in received, socket


@with_sockets
def test_own_producer_cursor(seen):
    for socket in kernel.sockets(seen.name):
        assert socket.prod in {
            prod for prod, _ in cursors(sent_by(socket.host, of_connection(seen, socket)))
        }, socket


@with_sockets
def test_own_consumer_cursor(seen):
    """Linux tells it when much has been read; until then a reader may have taken all that it has
    received."""
    for socket in kernel.sockets(seen.name):
        rows = of_connection(seen, socket)
        told = {cons for _, cons in cursors(sent_by(socket.host, rows))}
        received = {prod for prod, _ in cursors(sent_by(1 - socket.host, rows))}
        assert socket.cons in told | received, socket


@with_sockets
def test_link_of_connection(seen):
    """A host sends on the link that the kernel names, between the queue pairs of these GIDs."""
    for socket in kernel.sockets(seen.name):
        links = [(row["smcr.link.number"], gids(row)) for row in of_connection(seen, socket)]
        number = [] if seen.name in NO_CONFIRM_LINK else [str(socket.link)]
        assert (number, {socket.gid, socket.peer_gid}) in links, socket


@with_links
def test_link(seen):
    for link in kernel.links(seen.name):
        if (seen.name, link.number) in NO_PACKET:
            continue
        links = [(row["smcr.link.number"], gids(row)) for row in seen.rows]
        number = [] if seen.name in NO_CONFIRM_LINK else [str(link.number)]
        assert (number, {link.gid, link.peer_gid}) in links, link


@pytest.mark.parametrize(
    "seen",
    [name for name in cases(kernel.links) if name not in NO_CONFIRM_LINK],
    indirect=True,
    scope="module",
)
def test_link_user_ids(seen):
    """A host that does not know its peer's user ID has seen no CONFIRM LINK, and has perhaps sent
    none."""
    for link in kernel.links(seen.name):
        if not link.peer_user_id:
            continue
        for host, user_id in ((link.host, link.user_id), (1 - link.host, link.peer_user_id)):
            told = [
                numbers(row["smcr.link.user_id"])
                for row in sent_by(host, seen.rows)
                if row["smcr.link.user_id"] and str(link.number) in row["smcr.link.number"]
            ]
            assert [user_id] in told, link


@with_logs
def test_links_come_up_as_the_kernels_log_it(seen):
    """In the order of their first CONFIRM LINK response, by the user IDs of both ends."""
    ids = {0: {}, 1: {}}
    for row in seen.rows:
        if row["smcr.link.user_id"] and int(row["smcr.llc.type"][0], 0) in CONFIRM_LINK:
            ids[traffic.sender(row["eth.src"][0])].setdefault(
                row["smcr.link.index"][0], int(row["smcr.link.user_id"][0], 0)
            )
    activated = [
        row["smcr.link.index"][0]
        for row in seen.rows
        if any("link is confirmed" in message for message in row["_ws.expert.message"])
    ]
    for host in (0, 1):
        assert [(ids[host][link], ids[1 - host][link]) for link in activated] == kernel.links_added(
            seen.name, host
        )


@with_logs
def test_link_group_changes_its_type_as_the_kernels_log_it(tshark, seen):
    shown = LGR_TYPE.findall(
        tshark.show(seen.name, "-V", "-O", "smcr", "-Y", "smcr.lgr.type_changed")
    )
    for host in (0, 1):
        logged = kernel.lgr_types(seen.name, host)
        assert [word for word, _ in itertools.groupby(["SINGLE", *shown])] == list(logged)
