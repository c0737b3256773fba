/* Finds the connection of a CDC message: by its alert token and, if CLC messages are not captured,
 * by reports of hosts, and by cursors that show which two directions belong together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_conn.h"
#include "told_flow.h"
#include "state/evidence/evidence.h"
#include "state/model/store.h"

#define HALVES_MAX 256 /* maximum number of connections in `one_direction_conns` of a link group */

/* For how many messages in a row the same other direction alone has to fit the cursors, until both
 * directions count as one connection though their tokens do not show this. */
#define MATCHES_ENOUGH 4

/* How many different consumer cursors of a direction have to follow the producer cursor of the
 * direction with the expected token, until both are one connection. */
#define FOLLOWS_ENOUGH 16

/* How many connections of a link group have to have the expected tokens, until tokens decide which
 * of several directions with fitting cursors is the right one. */
#define JOINED_ENOUGH 3

/* ---- which connection ---- */

/* Whether the cursors of the message can show which two directions belong to one connection. Three
 * conditions:
 *
 * - The sender has read data. Before its first reading, its consumer cursor is 0, as in every
 *   connection without reading.
 * - CLC has not shown two different token differences in the group (`token_difference_changes`).
 * - If the first contact of the group is captured, CLC has shown one token difference. */
static bool
may_pair_directions(const smcr_lgr_t *lgr, const smcr_cdc_t *cdc)
{
    return !lgr->token_difference_changes && cdc->cons.count != 0 &&
           (!lgr->first_contact_captured || lgr->knows_token_difference);
}

/* Whether `half`, a connection of which only one direction is known, may be the direction that the
 * sender of the message reads. Two conditions: 1. only the token of this direction is known; 2. its
 * last producer cursor is equal to the consumer cursor of the message. `receiver`: side that
 * receives the message, and writes this direction. */
static bool
is_read_by_sender(const smcr_conn_t *half, int receiver, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *writer = &half->side[receiver];
    const smcr_conn_side_t *reader = &half->side[!receiver];

    return !writer->has_token && reader->has_token &&
           smcr_ring_cursors_are_same(writer->prod, cdc->cons);
}

/* A test whether `half`, of which only one direction is known, may be the other direction of the
 * message's connection. */
typedef bool half_fits_t(const smcr_conn_t *half, int receiver, const smcr_cdc_t *cdc);

/* Whether `half` may be the direction that the sender of the message reads, since the writer of
 * `half` has read all that the sender of the message has written. Two conditions: 1. only the token
 * of this direction is known; 2. the consumer cursor of the writer is equal to the producer cursor
 * of the message, and not 0. `receiver`: as for is_read_by_sender(). */
static bool
has_read_sender(const smcr_conn_t *half, int receiver, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *writer = &half->side[receiver];
    const smcr_conn_side_t *reader = &half->side[!receiver];

    return !writer->has_token && reader->has_token && writer->cons.count != 0 &&
           smcr_ring_cursors_are_same(writer->cons, cdc->prod);
}

/* Whether the order of messages allows that `conn` and `half` are one connection. The object with
 * the lower `index` is older. If the handshake of the newer object is captured, it began after the
 * older object had messages, so the two are different connections. `conn` NULL: the direction of
 * the message is new; the result is true. */
static bool
may_be_one(const smcr_conn_t *conn, const smcr_conn_t *half)
{
    return !conn || smcr_conn_began_before_capture(conn->index < half->index ? half : conn);
}

/* Whether the tokens of the two directions, that of the message and that of `half`, differ by
 * `token_difference`, which CLC has shown for the group. If CLC has shown no difference, the two
 * tokens have to be equal. `receiver`: side that receives the message. */
static bool
differs_as_announced(const smcr_lgr_t *lgr, const smcr_conn_t *half, int receiver,
                     const smcr_cdc_t *cdc)
{
    uint32_t announced = receiver ? lgr->token_difference : -lgr->token_difference;

    return cdc->token - half->side[!receiver].token == announced;
}

/* Whether all connections of the group have tokens whose difference is the expected one, as far as
 * the capture shows. The difference has to be proven: by CLC, or by JOINED_ENOUGH connections whose
 * cursors alone have shown which directions belong together. After an unmatched token, CLC proves
 * nothing. */
static bool
has_steady_difference(const smcr_lgr_t *lgr)
{
    bool is_announced = lgr->knows_token_difference && !lgr->token_unmatched;
    bool is_shown = is_announced || lgr->joined_as_expected >= JOINED_ENOUGH;

    return is_shown && !lgr->one_direction_conns_forgotten;
}

/* The directions that fit a message. All zeros: none does. */
typedef struct {
    smcr_conn_t *one;      /* any of them; NULL: none */
    smcr_conn_t *expected; /* the one that has the expected token; NULL: none */
    uint32_t newest;       /* highest `index` of them */
    unsigned count;        /* number of directions */
} fitting_t;

/* A message, and the test that the other direction of its connection passes. */
typedef struct {
    const smcr_lgr_t *lgr;   /* link group of the message */
    const smcr_conn_t *conn; /* connection of the message's direction; NULL: the direction is new */
    int receiver;            /* side that receives the message */
    const smcr_cdc_t *cdc;   /* the message */
    half_fits_t *fits;       /* test of its cursors */
} sought_t;

/* Whether `half` fits the cursors of the message, and may be the other direction. */
static bool
is_fitting(const sought_t *sought, const smcr_conn_t *half)
{
    return sought->fits(half, sought->receiver, sought->cdc) && may_be_one(sought->conn, half);
}

/* Returns the known directions that fit the message. */
static fitting_t
find_fitting(const sought_t *sought)
{
    fitting_t fitting = {0};

    SMCR_LIST_EACH(smcr_conn_t *, half, sought->lgr->one_direction_conns) {
        if (!is_fitting(sought, half))
            continue;
        fitting.one = half;
        fitting.count++;
        fitting.newest = MAX(fitting.newest, half->index);
        if (differs_as_announced(sought->lgr, half, sought->receiver, sought->cdc))
            fitting.expected = half;
    }
    return fitting;
}

/* Whether the other direction of each fitting direction that is older than `expected` may be
 * missing in the capture: since the older direction began, a packet of the message's sender is
 * missing. */
static bool
may_miss_older(const sought_t *sought, const smcr_conn_t *expected)
{
    SMCR_LIST_EACH(const smcr_conn_t *, half, sought->lgr->one_direction_conns) {
        if (half->index >= expected->index || !is_fitting(sought, half))
            continue;
        uint32_t begin = half->side[sought->receiver].first_cdc_frame;
        if (!smcr_evidence_side_lacks_between(sought->lgr, !sought->receiver, begin, UINT32_MAX))
            return false;
    }
    return true;
}

/* Whether the direction with the expected token is the newest of those that fit, and no token of
 * the group was unmatched: each request is answered before the next one. */
static bool
is_answered_at_once(const smcr_lgr_t *lgr, const fitting_t *fitting)
{
    bool is_newest = fitting->expected && fitting->expected->index == fitting->newest;

    return is_newest && !lgr->token_unmatched && !lgr->one_direction_conns_forgotten;
}

/* Finds the known direction that fits the cursors of the message, and may be the other direction of
 * its connection. NULL: none fits, or it is not clear which. `conn`, `receiver`: as in
 * find_other_direction().
 *
 * Several directions fit if programs send requests of the same size. Then the result is the one
 * with the expected token under two conditions:
 *
 * 1. No fitting direction is older, or the capture may miss what belongs to the older ones
 *    (may_miss_older()). The reason: programs are served in the order in which they ask, and hosts
 *    give tokens in this order.
 * 2. The tokens of the group have a steady difference (has_steady_difference()), or the direction
 *    is the newest one (is_answered_at_once()). */
static smcr_conn_t *
find_fitting_half(const smcr_lgr_t *lgr, const smcr_conn_t *conn, int receiver,
                  const smcr_cdc_t *cdc, half_fits_t *fits)
{
    const sought_t sought = {lgr, conn, receiver, cdc, fits};

    if (!may_pair_directions(lgr, cdc))
        return NULL;
    const fitting_t fitting = find_fitting(&sought);
    if (fitting.count < 2)
        return fitting.one;
    if (!fitting.expected || !may_miss_older(&sought, fitting.expected))
        return NULL;
    bool has_proof = has_steady_difference(lgr) || is_answered_at_once(lgr, &fitting);
    return has_proof ? fitting.expected : NULL;
}

/* Whether a known direction has the token that the other direction of the message's connection is
 * expected to have. */
static bool
has_expected_token(const smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    SMCR_LIST_EACH(const smcr_conn_t *, half, lgr->one_direction_conns)
        if (half->side[!receiver].has_token && differs_as_announced(lgr, half, receiver, cdc))
            return true;
    return false;
}

/* Whether the direction that the sender of the message reads may be missing in the capture: since
 * the last direction that was joined as expected, a packet of the receiver is missing, and no other
 * direction has begun that fits the message. */
static bool
may_miss_read(const smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    SMCR_LIST_EACH(const smcr_conn_t *, half, lgr->one_direction_conns)
        if (half->side[receiver].first_cdc_frame > lgr->last_expected_frame &&
            is_read_by_sender(half, receiver, cdc))
            return false;
    return smcr_evidence_side_lacks_between(lgr, receiver, lgr->last_expected_frame, UINT32_MAX);
}

/* If this is the first message of a sender, and the sender has read data, the other direction is
 * known, unless the capture misses it. If no known direction has the expected token, notes in
 * `token_unmatched` that tokens of the group have another difference, until cursors show the
 * expected one again. */
static void
note_unmatched(smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    bool is_first = cdc->seq == 1 && cdc->cons.count != 0;

    if (!is_first || has_expected_token(lgr, receiver, cdc) || may_miss_read(lgr, receiver, cdc))
        return;
    lgr->token_unmatched = true;
    lgr->joined_as_expected = 0;
}

/* Counts that `half` fits the cursors of a message of `conn`, if its consumer cursor is another one
 * than that of the last such message. Returns how many different cursors have fitted so far. */
static uint32_t
count_fitting(smcr_conn_t *conn, const smcr_conn_t *half, const smcr_cdc_t *cdc)
{
    bool is_same = conn->fitting_half == half;

    if (is_same && smcr_ring_cursors_are_same(conn->fitting_cursor, cdc->cons))
        return conn->fitting_count;
    conn->fitting_count = is_same ? conn->fitting_count + 1 : 1;
    conn->fitting_half = half;
    conn->fitting_cursor = cdc->cons;
    return conn->fitting_count;
}

/* Counts that `half` alone fits the cursors of a message of `conn`. Returns whether this has
 * happened MATCHES_ENOUGH times in a row, each time with another consumer cursor than the time
 * before: then both are one connection, whatever their tokens. The data up to each new cursor were
 * announced within the capture. So the right direction is among the known ones, and would fit in
 * addition to a wrong one. The result is false in two cases: 1. CLC has shown a difference of
 * tokens, so the tokens decide; 2. known directions were forgotten, and the right one may be one of
 * them. */
static bool
fits_often(smcr_conn_t *conn, const smcr_conn_t *half, const smcr_cdc_t *cdc)
{
    return count_fitting(conn, half, cdc) >= MATCHES_ENOUGH && !conn->lgr->knows_token_difference &&
           !conn->lgr->one_direction_conns_forgotten;
}

/* Whether the cursor `cons` of a reader may follow the cursor `prod` of its writer: it is at or
 * before it, by one round of the RMB element at most: then the element is full. */
static bool
follows(smcr_cursor_t cons, smcr_cursor_t prod)
{
    uint16_t rounds = (uint16_t)(prod.wrap - cons.wrap);

    return rounds == 0 ? cons.count <= prod.count : rounds == 1 && cons.count >= prod.count;
}

/* The known direction that has the expected token for the other direction of `conn`, and is not
 * newer than the beginning of `conn`, if both began in the capture (may_be_one()); NULL: none.
 * `receiver`: as in find_other_direction(). */
static smcr_conn_t *
find_expected_half(const smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    SMCR_LIST_EACH(smcr_conn_t *, half, conn->lgr->one_direction_conns) {
        bool is_other = !half->side[receiver].has_token && half->side[!receiver].has_token;
        if (is_other && differs_as_announced(conn->lgr, half, receiver, cdc) &&
            may_be_one(conn, half))
            return half;
    }
    return NULL;
}

/* Finds the other direction of `conn`, of which only the direction of the message is known, if its
 * reader is always behind, so that no cursor is equal to the last one of the writer; NULL: not
 * certain. The direction has to have the expected token. Its producer cursor was followed
 * (follows()) by the last FOLLOWS_ENOUGH different consumer cursors of `conn`, and is no longer in
 * the first round, which says little. `receiver`: as in find_other_direction(). */
static smcr_conn_t *
find_followed_half(smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *half = find_expected_half(conn, receiver, cdc);

    if (!half || !may_pair_directions(conn->lgr, cdc))
        return NULL;
    if (follows(cdc->cons, half->side[receiver].prod))
        return count_fitting(conn, half, cdc) >= FOLLOWS_ENOUGH && cdc->cons.wrap ? half : NULL;
    if (conn->fitting_half == half)
        conn->fitting_count = 0;
    return NULL;
}

/* Finds the known direction whose writer has read all that the sender of the message has written,
 * if its token is the expected one; NULL: none, or it is not clear which. This also finds the other
 * direction of a sender that has not read all data, for example one that aborts. `conn`,
 * `receiver`: as in find_other_direction(). */
static smcr_conn_t *
find_read_half(const smcr_lgr_t *lgr, const smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *found = find_fitting_half(lgr, conn, receiver, cdc, has_read_sender);

    return found && differs_as_announced(lgr, found, receiver, cdc) ? found : NULL;
}

/* Whether `half`, of which only one direction is known, has carried no data, in any direction, as
 * far as its messages report. A test as half_fits_t, for a message that reports no data either. */
static bool
has_no_data(const smcr_conn_t *half, int receiver, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *writer = &half->side[receiver];

    return !writer->has_token && half->side[!receiver].has_token &&
           smcr_ring_cursors_are_same(writer->prod, cdc->cons) &&
           smcr_ring_cursors_are_same(writer->cons, cdc->prod);
}

/* Finds the known direction of a connection that has carried no data, for example one that its
 * program only opens and closes; NULL: none, or not clear which. Cursors of 0 show nothing, so
 * the tokens decide: the group has to have a steady difference (has_steady_difference()).
 * `receiver`: as in find_other_direction(). Called only if the direction of the message is new. */
static smcr_conn_t *
find_idle_half(const smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *found = NULL;

    bool reports_data = cdc->cons.count || cdc->prod.count;

    if (reports_data || lgr->token_difference_changes || !has_steady_difference(lgr))
        return NULL;
    SMCR_LIST_EACH(smcr_conn_t *, half, lgr->one_direction_conns)
        if (has_no_data(half, receiver, cdc) && differs_as_announced(lgr, half, receiver, cdc))
            found = half;
    return found;
}

/* Finds the other direction by its token, where no cursor of the message is equal to one of it;
 * NULL: not certain. `conn`, `receiver`: as in find_other_direction(). */
static smcr_conn_t *
find_half_by_token(const smcr_lgr_t *lgr, smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    return conn ? find_followed_half(conn, receiver, cdc) : find_idle_half(lgr, receiver, cdc);
}

/* Finds the other direction of a connection whose CLC messages are not captured. NULL: no direction
 * fits for sure. `conn`: connection of the message's direction; NULL: the direction is new.
 *
 * Each direction has an alert token of its own, and no field of CDC says which two tokens belong
 * together. But the consumer cursor of a sender is a copy of the producer cursor in the other
 * direction:
 *
 *     from A   token 7   producer 4096   consumer 900
 *     from B   token 9   producer  900   consumer 4096
 *
 * B has read up to 4096, which is how far A has written. So tokens 7 and 9 are one connection.
 *
 * Exactly one known direction has to fit, or be chosen among several (find_fitting_half()). The two
 * tokens also have to differ by what CLC has shown for other connections of the group. If CLC has
 * shown nothing, the tokens have to be equal, or the same direction has to fit several messages
 * (fits_often()). */
static smcr_conn_t *
find_other_direction(smcr_lgr_t *lgr, smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *found = find_fitting_half(lgr, conn, receiver, cdc, is_read_by_sender);

    if (!found)
        found = find_read_half(lgr, conn, receiver, cdc);
    if (!found)
        found = find_half_by_token(lgr, conn, receiver, cdc);
    if (found && differs_as_announced(lgr, found, receiver, cdc)) {
        lgr->joined_as_expected++;
        lgr->last_expected_frame = found->side[receiver].first_cdc_frame;
        return found;
    }
    return found && conn && fits_often(conn, found, cdc) ? found : NULL;
}

/* Whether CLC has announced one token of the connection, and the message may have the other one:
 * that of `receiver`. The tokens differ as CLC has shown for other connections of the group, and
 * the message reports no more data as read than the receiver is known to have announced. If no
 * message of the receiver is captured, any data may be reported. */
static bool
may_have_missing_token(const smcr_conn_t *conn, int receiver, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *writer = &conn->side[receiver];
    bool lacks_token = conn->clc_types_received && !writer->has_token;

    if (!lacks_token || !conn->side[!receiver].has_token)
        return false;
    return differs_as_announced(conn->lgr, conn, receiver, cdc) &&
           (!writer->first_cdc_frame || follows(cdc->cons, writer->prod));
}

/* Finds the open connection of which one CLC message is missing, Accept or Confirm, and whose other
 * CLC message shows that the token of the CDC message belongs to the connection; NULL: none. CLC of
 * other connections of the group has shown how tokens differ. `receiver`: side that receives the
 * message. */
static smcr_conn_t *
find_announced_conn(smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    bool has_difference = lgr->knows_token_difference && !lgr->token_difference_changes;
    smcr_conn_t *conn = has_difference ? smcr_conn_first_open(&lgr->newest_open_conn) : NULL;

    while (conn && !may_have_missing_token(conn, receiver, cdc))
        conn = smcr_conn_first_open(&conn->older_open);
    return conn;
}

/* Adds the connection, of which only one direction is known, to the list `one_direction_conns` of
 * its group. */
static void
add_half(smcr_lgr_t *lgr, smcr_conn_t *conn)
{
    conn->is_one_direction = true;
    lgr->one_direction_conns_forgotten |=
        smcr_list_keep(lgr->one_direction_conns, conn, HALVES_MAX);
}

/* Joins `conn`, of which only the direction of the message is known, with its other direction, if
 * the cursors of the message show the other direction. Returns the connection of both directions,
 * or `conn`. */
static smcr_conn_t *
join_other_direction(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    int receiver = arrival->qp->side;
    smcr_conn_t *other = find_other_direction(conn->lgr, conn, receiver, cdc);

    if (!conn->is_one_direction)
        add_half(conn->lgr, conn);
    if (!other)
        return conn;
    conn = smcr_join_directions(arrival->state, conn, other, receiver);
    for (int side = 0; side < 2; side++)
        smcr_conn_side_update_stream(&conn->side[side]);
    return conn;
}

/* Reports that the CLC messages of the message's connection are not known. */
static void
add_midstream_event(const smcr_arrival_t *arrival, const smcr_lgr_t *lgr)
{
    if (lgr->first_contact_captured)
        smcr_event_add(arrival, SMCR_EVENT_cdc_unknown_token, NULL);
    else
        smcr_event_add(arrival, SMCR_EVENT_conn_late,
                       arrival->state->damage ? "CLC messages not captured, truncated or damaged"
                                              : NULL);
}

/* Finds or makes the connection of a message whose CLC messages are not captured: its token names
 * no connection of the group, or only one that certainly has ended. There are three cases, in this
 * order:
 *
 * 1. A host has reported a socket to which the message belongs: the result is the connection of
 *    this socket, or a new one that gets addresses and ports of the socket.
 * 2. The cursors or CLC show that the message belongs to the other direction of a known connection.
 * 3. Otherwise the connection is new. */
static smcr_conn_t *
find_midstream_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;
    int receiver = arrival->qp->side;
    int side = receiver;
    smcr_socket_t *socket = smcr_state_report_socket(arrival, cdc, &side);
    smcr_conn_t *conn = socket ? smcr_state_report_conn(arrival, socket)
                               : find_other_direction(lgr, NULL, receiver, cdc);

    if (!conn)
        conn = find_announced_conn(lgr, receiver, cdc);

    if (conn) {
        if (!socket)
            smcr_event_add(
                arrival, SMCR_EVENT_conn_late,
                "Token and cursors show that this is the other direction of connection %u",
                conn->index);
        wmem_list_remove(lgr->one_direction_conns, conn);
    } else {
        note_unmatched(lgr, receiver, cdc);
        conn = smcr_conn_new(arrival->state);
        smcr_conn_join(conn, lgr);
        add_half(lgr, conn);
        add_midstream_event(arrival, lgr);
    }
    smcr_conn_set_token(arrival->state, conn, receiver, cdc->token);
    smcr_conn_confirm_use(conn, arrival->qp, arrival->psn);
    if (socket)
        smcr_state_report_name(arrival, socket, conn, side);
    return conn;
}

/* Whether the receiver had taken in the message before this packet came: the packet is a
 * retransmission or a duplicate, or is captured out of order. */
static bool
was_taken_in_before(const smcr_arrival_t *arrival)
{
    return arrival->record->receiver_action == SMCR_FLOW_RECEIVER_DROPS ||
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_HAD_IT;
}

/* If the receiver took in the message before the connection with this token began, the message
 * belongs to an earlier connection, which is not known. */
smcr_conn_t *
smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_conn_t *conn = smcr_conn_find(arrival->state, qp->link->lgr, qp->side, cdc->token);

    if (was_taken_in_before(arrival))
        return smcr_conn_had_begun(conn, qp, arrival->psn) ? conn : NULL;
    if (conn && conn->side[qp->side].token_shared)
        return NULL;
    if (!conn || smcr_evidence_is_over(arrival, conn, cdc))
        return find_midstream_conn(arrival, cdc);
    return conn->side[!qp->side].has_token ? conn : join_other_direction(arrival, conn, cdc);
}
