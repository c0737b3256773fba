/* Makes the entry of a connection: its ends, its links, and its first and last frame. Other files
 * fill in its outcome, its setup, and what it carried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

/* ---- ends ---- */

/* Fills in address and port of the client (`role` 0) or the server (1). Leaves them unknown if the
 * TCP connection is not known, or if it is not known which end is the client. */
static void
fill_endpoint(smcr_entry_endpoint_t *entry, const smcr_conn_t *conn, unsigned role,
              const smcr_collect_t *collection)
{
    address addr;

    if (!conn->conversation || conn->roles_unknown)
        return;
    smcr_endpoint_tcp_address(conn, role, &addr);
    entry->addr = smcr_collect_host(collection, &addr);
    entry->port = conn->port[role];
}

/* Returns an end of a connection as it is after address translation; NULL: address and port are the
 * same there. `at`: index of the end in `ends`. */
static smcr_entry_endpoint_t *
translated_end(const smcr_translation_ends_t *ends, unsigned at, wmem_allocator_t *scope)
{
    const smcr_translation_end_t *before = &ends->original[at], *after = &ends->copy[at];

    if (smcr_gid_is_same(before->gid, after->gid) && before->port == after->port)
        return NULL;
    smcr_entry_endpoint_t *entry = wmem_new(scope, smcr_entry_endpoint_t);
    smcr_entry_clear(entry, &smcr_entry_endpoint_description);
    entry->addr = smcr_figure_gid_text(scope, after->gid);
    entry->port = after->port;
    return entry;
}

/* Whether `end` is the client of the connection. A port alone does not show this: both ends may
 * have the same one. */
static bool
is_client(const smcr_translation_end_t *end, const smcr_conn_t *conn)
{
    address addr;
    uint8_t gid[SMCR_GID_LENGTH];

    smcr_endpoint_tcp_address(conn, 0, &addr);
    smcr_endpoint_gid(&addr, gid);
    return end->port == conn->port[0] && smcr_gid_is_same(end->gid, gid);
}

/* Fills in the ends after address translation, if the capture shows the connection there, too.
 * Nothing is filled in if it is not known which end is the client. */
static void
fill_translated(smcr_entry_connection_t *entry, const smcr_conn_t *conn, wmem_allocator_t *scope)
{
    const smcr_translation_ends_t *ends =
        conn->conversation ? smcr_translation_ends(conn->conversation) : NULL;

    if (!ends || conn->roles_unknown)
        return;
    bool is_from_client = is_client(&ends->original[0], conn);
    entry->translated_client = translated_end(ends, !is_from_client, scope);
    entry->translated_server = translated_end(ends, is_from_client, scope);
}

/* Returns the alert token as text, allocated in `scope`; NULL: not known. */
static const char *
token_text(const smcr_conn_side_t *side, wmem_allocator_t *scope)
{
    return side->has_token ? smcr_figure_hex_text(scope, side->token, 4) : NULL;
}

/* Whether it is known which end is the client: TCP or CLC shows it; without a TCP connection, the
 * roles of the link group show it. */
static bool
knows_roles(const smcr_conn_t *conn)
{
    if (conn->conversation)
        return !conn->roles_unknown;
    return smcr_evidence_knows_server(conn->lgr);
}

/* Fills in what names the connection: addresses, ports, tokens, TCP stream. If it is not known
 * which end is the client, `ends` names the two ends without roles. If the side of the client is
 * not known, side 0 counts as the client's: tokens and the figures of directions are then by
 * side. */
static void
fill_ends(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
          const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
          wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    int client = smcr_collect_conn_client_side(counted);

    fill_endpoint(&entry->client, conn, 0, collection);
    fill_endpoint(&entry->server, conn, 1, collection);
    fill_translated(entry, conn, scope);
    if (!knows_roles(conn)) {
        smcr_show_ends_t ends = smcr_show_ends_of(scope, conn);
        const char **name = conn->conversation ? ends.name : ends.address;
        entry->ends = smcr_figure_ends(scope, name[0], name[1]);
    }
    entry->tokens.client = token_text(&conn->side[client], scope);
    entry->tokens.server = token_text(&conn->side[!client], scope);
    if (conn->conversation)
        entry->tcp_stream = conn->tcp_stream;
    if (tcp) {
        entry->tcp_isn.client = tcp->isn[0];
        entry->tcp_isn.server = tcp->isn[1];
    }
}

/* ---- the entry ---- */

/* A direction without a CDC message does not matter. */
bool
smcr_collect_conn_has_first_data(const smcr_collect_conn_stats_t *counted)
{
    bool has_any = false;

    for (unsigned side = 0; side < 2; side++) {
        const smcr_collect_direction_t *direction = &counted->counts->direction[side];
        if (direction->figures.cdc && direction->first_cdc_seq != 1)
            return false;
        has_any |= direction->figures.cdc != 0;
    }
    return has_any;
}

/* Whether the capture has early messages of the connection, so that at most its TCP handshake and
 * CLC messages are missing: a Proposal or Accept, the first contact of its link group, or its first
 * data. */
static bool
has_later_messages(const smcr_collect_conn_stats_t *counted)
{
    const smcr_lgr_t *lgr = counted->conn->lgr;
    bool has_clc_messages =
        counted->clc[SMCR_CLC_PROPOSAL].frame || counted->clc[SMCR_CLC_ACCEPT].frame;

    return has_clc_messages || (lgr && lgr->first_contact_captured) ||
           smcr_collect_conn_has_first_data(counted);
}

/* Fills in the first and the last frame of the connection, on RoCE or TCP, and whether it began
 * before the capture. */
static void
fill_frames(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
            const smcr_collect_tcp_facts_t *tcp)
{
    entry->first_frame = counted->first;
    entry->last_frame = counted->last;
    if (tcp) {
        entry->first_frame = smcr_figure_when_earlier(counted->first, tcp->first);
        if (tcp->last.frame > counted->last.frame)
            entry->last_frame = tcp->last;
    }
    if ((tcp && tcp->syn.frame) || counted->conn->has_synack)
        entry->began_before = SMCR_FIGURE_NO;
    else if (!has_later_messages(counted)) /* otherwise only TCP and CLC may be missing */
        entry->began_before = SMCR_FIGURE_YES;
}

/* Returns the version of SMC-R that the connection uses, as CLC shows it. If only a host's report
 * or a tap shows the connection, it is the version of the link group. */
static smcr_figure_version_t
version_of(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool is_reported = conn->socket || smcr_collect_conn_is_tapped(conn);
    bool only_reported = !counted->version && is_reported && conn->lgr;

    return smcr_figure_version_of(only_reported ? conn->lgr->version : counted->version,
                                  smcr_lgr_release(conn->lgr));
}

/* Fills in which host's kernel has reported the connection's socket, and in which frame, if a host
 * has done so. */
static void
fill_reporter(smcr_entry_connection_t *entry, const smcr_conn_t *conn, wmem_allocator_t *scope)
{
    address addr;

    if (!conn->socket)
        return;
    smcr_endpoint_of_gid(conn->socket->reported.address[SMCR_TOLD_OWN], &addr);
    entry->named_by = address_to_str(scope, &addr);
    entry->named_frame = conn->socket->first;
}

/* Fills in the link group of the connection, unless it has fallen back to TCP, and the links that
 * it has used: none for a connection that a tap shows, since a tap shows no link. */
static void
fill_links(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
           wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;

    if (conn->lgr && !conn->fallback.kind)
        entry->link_group = smcr_collect_lgr_number(conn->lgr);
    const smcr_collect_link_use_t *use =
        smcr_collect_conn_is_tapped(conn) ? NULL : counted->first_use;
    for (; use; use = use->next) {
        smcr_entry_conn_link_t *used = SMCR_FIGURE_ADD(conn_link, &entry->links, scope);
        used->number = use->link->has_number ? use->link->number : SMCR_FIGURE_UNKNOWN;
        used->from_frame = use->from;
    }
}

/* Later steps read what earlier steps have filled in: fallback and close need the outcome, the
 * close needs the frames, and directions need all of these. */
void
smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                             smcr_collect_conn_stats_t *counted,
                             const smcr_collect_tcp_facts_t *tcp,
                             const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;

    entry->stream = conn->index;
    counted->pictures = collection->series ? smcr_series_conn(collection->series, conn) : NULL;
    if (counted->pictures)
        counted->pictures->client_is_second = counted->client_is_second;
    fill_ends(entry, counted, tcp, collection, scope);
    fill_reporter(entry, conn, scope);
    if (!counted->is_smcd)
        entry->version = version_of(counted);
    entry->handshake_end = smcr_collect_handshake_end(
        counted, tcp, smcr_collect_when(collection, conn->fallback.frame), scope);
    entry->outcome = entry->handshake_end
                         ? SMCR_FIGURE_OUTCOME_FAILED
                         : smcr_collect_conn_outcome(counted, tcp, collection->capture.last_time);
    smcr_collect_conn_fill_fallback(entry, counted, tcp, collection, scope);
    if (tcp)
        entry->reset_by = tcp->reset_by;
    fill_links(entry, counted, scope);
    fill_frames(entry, counted, tcp);
    smcr_collect_conn_fill_close(entry, counted, tcp, &collection->gaps);
    smcr_collect_conn_fill_setup(entry, counted, tcp, scope);
    smcr_collect_conn_fill_directions(entry, counted, tcp, collection, scope);
}
