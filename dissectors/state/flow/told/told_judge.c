/* Whether the capture agrees with what a host reports of a socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "told_judge.h"
#include "state/evidence/evidence.h"

smcr_state_told_stream_t
smcr_state_told_stream(const smcr_told_socket_t *told, bool to_host)
{
    if (to_host)
        return (smcr_state_told_stream_t){told->size[SMCR_TOLD_OWN], told->rx_prod, told->tx_cons};
    return (smcr_state_told_stream_t){told->size[SMCR_TOLD_PEER], told->tx_prod, told->rx_cons};
}

/* Whether the report may be older than the last message of `sender`. Netlink and RoCE may be
 * captured at different places, so a message less than SMCR_TIME_DISORDER before the report may be
 * missing in the report. The report has to include earlier messages. The sender's marks
 * (`mark_prod`) are the producer cursors of two of its messages. `told`, the reported producer
 * cursor, must not be before a mark that came at least SMCR_TIME_DISORDER before the report. */
static bool
may_be_older(const smcr_socket_t *socket, const smcr_ring_t *ring, smcr_cursor_t told,
             const smcr_conn_side_t *sender)
{
    bool recent = socket->time < sender->last_cdc_time + SMCR_TIME_DISORDER;

    for (unsigned i = 0; i < 2 && sender->mark_time[i]; i++)
        recent &= socket->time < sender->mark_time[i] + SMCR_TIME_DISORDER ||
                  smcr_ring_distance(ring, sender->mark_prod[i], told) >= 0;
    return recent;
}

/* Whether the reported producer cursor of `stream` agrees with the last message of `sender`. There
 * are three cases:
 *
 * - The message is ahead of the report, by one round at most. They agree if the report may be older
 *   than the message.
 * - The message has the reported cursor. They agree.
 * - The report is ahead. They agree only if `waits` is true: the caller lets the next message
 *   decide. The message with the reported cursor may be missing, or may come later in the capture,
 *   since dumpcap does not sort packets of several interfaces. */
static bool
cursor_agrees(const smcr_socket_t *socket, const smcr_state_told_stream_t *stream,
              const smcr_conn_side_t *sender, bool waits)
{
    const smcr_ring_t ring = {stream->size, 0};
    int64_t ahead = smcr_ring_distance(&ring, stream->prod, sender->prod);

    if (ahead > 0)
        return may_be_older(socket, &ring, stream->prod, sender) && ahead <= stream->size;
    if (ahead == 0)
        return true;
    return waits && sender->last_cdc_time < socket->time + SMCR_TIME_DISORDER;
}

/* The producer cursor is one of the stream that `writer` sends, the consumer cursor one of the
 * stream that it receives. */
bool
smcr_state_told_cursors_fit(const smcr_told_socket_t *told, const smcr_conn_side_t *writer,
                            bool to_host)
{
    const smcr_state_told_stream_t stream = smcr_state_told_stream(told, to_host),
                                   back = smcr_state_told_stream(told, !to_host);
    const smcr_ring_t ring = {stream.size, 0}, reverse = {back.size, 0};

    return writer->prod.count < ring.size && writer->cons.count < reverse.size &&
           smcr_socket_cursors_agree(smcr_ring_distance(&ring, stream.prod, writer->prod),
                                     smcr_ring_distance(&reverse, back.cons, writer->cons));
}

/* Whether the last CDC message of the side `from` agrees with the report of `socket`. Also true if
 * the side has sent no message, or if packets after its last captured message are missing, which
 * may explain a difference. `to_host`, `waits`: as for smcr_state_told_cursors_fit() and
 * cursor_agrees(). */
static bool
last_message_agrees(const smcr_socket_t *socket, const smcr_conn_t *conn, int from, bool to_host,
                    bool waits)
{
    const smcr_conn_side_t *writer = &conn->side[from];
    const smcr_state_told_stream_t stream = smcr_state_told_stream(&socket->reported, to_host);

    if (!writer->last_cdc_frame || !smcr_evidence_holds(&conn->side[!from].last_cdc_received))
        return true;
    return cursor_agrees(socket, &stream, writer, waits);
}

/* Both messages have to fit before one of them is compared in time. */
bool
smcr_state_told_cursors_agree(const smcr_socket_t *socket, const smcr_conn_t *conn, int side,
                              bool waits)
{
    const smcr_told_socket_t *told = &socket->reported;

    return smcr_state_told_cursors_fit(told, &conn->side[!side], true) &&
           smcr_state_told_cursors_fit(told, &conn->side[side], false) &&
           last_message_agrees(socket, conn, !side, true, waits) &&
           last_message_agrees(socket, conn, side, false, waits);
}

/* Whether the TCP connection has this address and port at the end `role`: 0 client, 1 server.
 * `address`: an IPv6 address, or an IPv4 address mapped into IPv6. */
static bool
has_end(const smcr_conn_t *conn, unsigned role, const uint8_t *address, uint16_t port)
{
    if (conn->port[role] != port)
        return false;
    if (!conn->ipv4)
        return smcr_gid_is_same(conn->addr.ipv6[role], address);
    return smcr_gid_is_ipv4(address) && memcmp(conn->addr.ipv4[role], address + SMCR_GID_IPV4_AT,
                                               SMCR_GID_IPV4_LENGTH) == 0;
}

bool
smcr_state_told_has_role(const smcr_lgr_t *lgr, const smcr_told_socket_t *told, int side)
{
    return lgr->server == SMCR_LGR_SIDE_UNKNOWN || (lgr->role_source_file && !told->is_from_file) ||
           (lgr->server == side) == told->is_server;
}

/* Whether the report contradicts what is known of one end of the connection: the size of its
 * element, its address, or its port. `side`: side of the reporting host. `end`: SMCR_TOLD_OWN or
 * SMCR_TOLD_PEER. */
static bool
contradicts_end(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side, unsigned end)
{
    bool is_own = end == SMCR_TOLD_OWN;
    unsigned role = is_own ? told->is_server : !told->is_server;
    uint32_t size = conn->side[is_own ? side : !side].size;

    if (size && size != told->size[end])
        return true;
    return conn->port[role] && !has_end(conn, role, told->address[end], told->port[end]);
}

/* What is not known of the connection contradicts nothing. */
bool
smcr_state_told_is_like(const smcr_told_socket_t *told, const smcr_conn_t *conn, int side)
{
    if (!smcr_state_told_has_role(conn->lgr, told, side))
        return false;
    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++)
        if (contradicts_end(told, conn, side, end))
            return false;
    return true;
}

/* Whether a reader with the consumer cursor `cons` can be the reader of a writer with the producer
 * cursor `prod`, in an element of `size` bytes. The reader has read no more than was announced, and
 * the unread bytes fit into the element. */
static bool
can_have_read(uint32_t size, smcr_cursor_t cons, smcr_cursor_t prod)
{
    int64_t unread = smcr_ring_distance(&(smcr_ring_t){size, 0}, cons, prod);

    return unread >= 0 && unread <= size;
}

/* The cursors of both directions are compared: those of one direction may agree by chance. */
bool
smcr_state_told_two_directions(const smcr_conn_t *one, const smcr_conn_t *other, int side,
                               const smcr_told_socket_t *told)
{
    const smcr_conn_side_t *to = &one->side[!side], *from = &other->side[side];
    bool lack_tokens = !one->side[!side].has_token && !other->side[side].has_token;

    return one->lgr == other->lgr && lack_tokens &&
           can_have_read(told->size[SMCR_TOLD_OWN], from->cons, to->prod) &&
           can_have_read(told->size[SMCR_TOLD_PEER], to->cons, from->prod);
}
