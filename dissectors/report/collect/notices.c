/* Counts the plugin's expert items by kind. Wireshark hands over the expert items of a frame before
 * the packet that they are about, so they are kept until the frame is complete.
 *
 * Events that later packets have to confirm have no expert items in the first pass. These events
 * are kept, and are checked when the report is made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

#include <epan/ipproto.h>

#include "fields.h"
#include "message/message.h"

#define PREFIX "smcr." /* the names of all expert items of the plugin begin with this text */

/* The expert items of one kind. While a frame is not complete, also a single expert item of the
 * frame. */
typedef struct {
    smcr_figure_notice_t notice; /* the notice of these items; its `subject` is not set yet */
    smcr_figure_subject_t hosts; /* source and destination of the first item's frame; of an ICMP
                                    error, those of the quoted packet; NULL: not known */
    const smcr_conn_t *conn;     /* connection of the first item; NULL: none */
    const smcr_link_t *link;     /* link of the first item; NULL: none */
    const smcr_rdma_flow_t *flow; /* flow of the first item, if it is the flow of no link; NULL:
                                     none */
    const smcr_conn_t *other_conn; /* a connection of other items than the first; NULL: none */
    bool is_event;               /* the first item is of an event of the state, not of the bytes of
                                    a single message */
    bool blamed;                 /* the packet that the item is about has come, and side, connection
                                    and link are set */
    wmem_array_t *frames;        /* the frames of the items; element counted_frame_t; NULL: the
                                    collection keeps no frames, or a single item */
} counted_items_t;

/* A frame that has an expert item, and the subject of the item. */
typedef struct {
    uint32_t frame;          /* number of the frame */
    const smcr_conn_t *conn; /* connection of the item; NULL: none */
    const smcr_link_t *link; /* link of the item; NULL: none */
    const smcr_rdma_flow_t *flow; /* flow of the item, if it is the flow of no link; NULL: none */
} counted_frame_t;

/* An expert item that counts only if later packets confirm it. The first pass does not raise it.
 * One of the first three members says what has to be confirmed; the other two are NULL. */
typedef struct {
    const smcr_event_t *event;       /* an event in the record of the packet */
    const smcr_exchange_t *request;  /* a request that gets no response */
    const smcr_conn_t *confirmed;    /* a connection with a CLC Confirm and without RoCE packets */
    counted_items_t kind;            /* the expert item */
} claimed_t;

static const smcr_figure_subject_t nothing = {SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN,
                                              SMCR_FIGURE_UNKNOWN, NULL, NULL};

void
smcr_collect_notices_begin(smcr_collect_t *collection)
{
    collection->item_kinds = wmem_array_new(collection->scope, sizeof(counted_items_t));
    collection->deferred_checks = wmem_array_new(collection->scope, sizeof(claimed_t));
}

/* Returns a subject that has only the hosts: source and destination of the frame. Both hosts are
 * NULL if the frame has no network addresses. */
static smcr_figure_subject_t
hosts_of(const smcr_collect_t *collection, const packet_info *pinfo)
{
    smcr_figure_subject_t hosts = nothing;

    if (pinfo->net_src.type == AT_NONE || pinfo->net_dst.type == AT_NONE)
        return hosts;
    hosts.src = smcr_collect_host(collection, &pinfo->net_src);
    hosts.dst = smcr_collect_host(collection, &pinfo->net_dst);
    return hosts;
}

/* Only keeps the item: its connection, link and sender are known when its packet comes. */
void
smcr_collect_notices_take(smcr_collect_t *collection, const packet_info *pinfo,
                          const expert_info_t *item)
{
    const header_field_info *field =
        item->hf_index > 0 ? proto_registrar_get_nth((unsigned)item->hf_index) : NULL;

    if (!field || strncmp(field->abbrev, PREFIX, strlen(PREFIX)) != 0)
        return;
    if (!collection->frame_items)
        collection->frame_items = wmem_array_new(collection->scope, sizeof(counted_items_t));
    counted_items_t one = {
        .notice = {.filter = field->abbrev,
                   .severity = item->severity,
                   .group = item->group,
                   .by = SMCR_FIGURE_ROLE_NONE,
                   .count = 1,
                   .first = smcr_capture_when(pinfo),
                   .last = pinfo->num,
                   .kind = field->name}};
    wmem_array_append_one(collection->frame_items, one);
}

/* Returns the role of the packet's sender; SMCR_FIGURE_ROLE_NONE: not known. */
static smcr_figure_role_t
sender_of(const smcr_record_t *record)
{
    const smcr_lgr_t *lgr = record->link ? record->link->lgr : NULL;

    if (record->direction >= 0)
        return smcr_figure_role(record->direction);
    if (!smcr_evidence_knows_server(lgr) || record->sender < 0)
        return SMCR_FIGURE_ROLE_NONE;
    return smcr_figure_role(record->sender == lgr->server);
}

/* Whether the packet has an event whose expert item has this filter. */
static bool
has_event(const smcr_record_t *record, const char *filter)
{
    for (const smcr_event_t *event = record->events; event; event = event->next)
        if (strcmp(smcr_item_expert_row(smcr_show_event_expert(event))->filter, filter) == 0)
            return true;
    return false;
}

/* Fills in connection, link and sender of an expert item from the record of its packet. If the
 * other side had closed the connection before the item's frame, keeps the frame of this close,
 * which the finding of an abort names. */
static void
blame(counted_items_t *item, const smcr_record_t *record)
{
    const smcr_conn_side_t *other =
        record->conn && record->sender >= 0 ? &record->conn->side[!record->sender] : NULL;

    if (other && other->closed_frame < item->notice.first.frame)
        item->notice.closed = other->closed_frame;
    item->notice.by = sender_of(record);
    item->conn = record->conn;
    item->link = record->link;
    item->flow = record->rdma;
    item->is_event = item->notice.filter && has_event(record, item->notice.filter);
    item->notice.reason = record->cm ? smcr_show_rejection(record->cm) : NULL;
    item->blamed = true;
}

/* Goes back from the newest item to the first one that has a subject: this one is about an earlier
 * packet of the frame. */
void
smcr_collect_notices_set_subject(smcr_collect_t *collection, const smcr_tap_t *packet)
{
    counted_items_t *items =
        collection->frame_items ? wmem_array_get_raw(collection->frame_items) : NULL;

    for (unsigned i = items ? wmem_array_get_count(collection->frame_items) : 0;
         i > 0 && !items[i - 1].blamed; i--)
        blame(&items[i - 1], packet->record);
}

/* Keeps an expert item about the packet until the report is made: later packets have to confirm the
 * item. */
static void
defer(smcr_collect_t *collection, const packet_info *pinfo, const smcr_record_t *record,
      claimed_t claimed)
{
    claimed.kind.notice.first = smcr_capture_when(pinfo);
    claimed.kind.hosts = hosts_of(collection, pinfo);
    blame(&claimed.kind, record);
    smcr_conn_keep(record->conn);
    wmem_array_append_one(collection->deferred_checks, claimed);
}

/* Whether the packet is a CLC Confirm, and no RoCE packet of the connection's link is captured so
 * far. */
static bool
is_confirm_without_roce(const packet_info *pinfo, const smcr_conn_t *conn)
{
    return conn && conn->confirm_frame == pinfo->num && smcr_evidence_lacks_roce(conn);
}

/* Whether an event counts is decided anew for each report, since later packets may confirm or
 * refute it. */
void
smcr_collect_notices_defer(smcr_collect_t *collection, const packet_info *pinfo,
                           const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    for (const smcr_event_t *event = record->events; event; event = event->next) {
        if (event->deferred_check && !smcr_show_event_at_once(event))
            defer(collection, pinfo, record,
                  (claimed_t){.event = event, .kind = {.is_event = true}});
    }
    if (is_confirm_without_roce(pinfo, record->conn))
        defer(collection, pinfo, record, (claimed_t){.confirmed = record->conn});
    if (record->begins_exchange && collection->keeps_frames) /* a collection that keeps no frames
                                                                does without: each request would
                                                                cost memory */
        defer(collection, pinfo, record, (claimed_t){.request = record->begins_exchange});
}

/* ---- counting ---- */

/* Whether two notices are of the same kind: they have the same filter and severity, and the same
 * side caused them. */
static bool
are_of_kind(const smcr_figure_notice_t *one, const smcr_figure_notice_t *other)
{
    return strcmp(one->filter, other->filter) == 0 && one->severity == other->severity &&
           one->by == other->by;
}

/* Returns the counted kind that `notice` belongs to; NULL: no item of this kind was counted yet. */
static counted_items_t *
find_kind(wmem_array_t *kinds, const smcr_figure_notice_t *notice)
{
    for (unsigned i = 0; i < wmem_array_get_count(kinds); i++) {
        counted_items_t *kind = wmem_array_index(kinds, i);
        if (are_of_kind(&kind->notice, notice))
            return kind;
    }
    return NULL;
}

/* Adds the frame of a single item to the frames of its kind. */
static void
keep_frame(counted_items_t *kind, const counted_items_t *item, wmem_allocator_t *scope)
{
    counted_frame_t frame = {item->notice.first.frame, item->conn, item->link, item->flow};

    if (!kind->frames)
        kind->frames = wmem_array_new(scope, sizeof(counted_frame_t));
    wmem_array_append_one(kind->frames, frame);
}

/* Notes another connection of a kind: that of `items`, if the kind has none so far. */
static void
note_other_conn(counted_items_t *kind, const counted_items_t *items)
{
    if (kind->other_conn || !kind->conn || !items->conn || kind->conn == items->conn)
        return;
    kind->other_conn = items->conn;
    smcr_conn_keep(items->conn);
}

/* Adds the number of `items` to the count of their kind. If the items have an earlier frame than
 * the kind so far, the kind takes frame, subject and texts from the items, and the kind is
 * returned. A new kind is returned, too. Otherwise returns NULL. `frames`: memory pool for the
 * frames of the kind; NULL: no frames are kept. */
static counted_items_t *
count_items(wmem_array_t *kinds, const counted_items_t *items, wmem_allocator_t *frames)
{
    counted_items_t *kind = find_kind(kinds, &items->notice);
    bool is_new = !kind;

    if (is_new) {
        wmem_array_append(kinds, items, 1);
        kind = wmem_array_index(kinds, wmem_array_get_count(kinds) - 1);
    }
    if (frames)
        keep_frame(kind, items, frames);
    if (frames || is_new)
        smcr_conn_keep(items->conn);
    if (is_new)
        return kind;
    counted_items_t before = *kind;
    uint64_t count = kind->notice.count + items->notice.count;
    uint32_t last = MAX(kind->notice.last, items->notice.last);
    bool is_first = items->notice.first.frame < kind->notice.first.frame;

    if (is_first) {
        *kind = *items;
        smcr_conn_keep(items->conn);
    }
    kind->frames = before.frames;
    kind->other_conn = before.other_conn;
    note_other_conn(kind, is_first ? &before : items);
    kind->notice.count = count;
    kind->notice.last = last;
    return is_first ? kind : NULL;
}

/* Returns the memory pool for the frames of notices; NULL: the collection keeps no frames. */
static wmem_allocator_t *
pool_of_frames(const smcr_collect_t *collection)
{
    return collection->keeps_frames ? collection->scope : NULL;
}

void
smcr_collect_notices_count(smcr_collect_t *collection, const char *filter, smcr_when_t first,
                           uint64_t number)
{
    counted_items_t item = {.notice = {.filter = filter, .count = number, .first = first},
                            .hosts = nothing};

    count_items(collection->item_kinds, &item, pool_of_frames(collection));
}

/* A step concerns no host, so the item has no hosts. */
void
smcr_collect_notices_count_step_back(smcr_collect_t *collection, const char *filter,
                                     smcr_when_t when, uint64_t back)
{
    counted_items_t item = {.notice = {.filter = filter, .count = 1, .first = when, .back = back},
                            .hosts = nothing};

    count_items(collection->item_kinds, &item, pool_of_frames(collection));
}

/* Errors of one display filter are of one kind. The text `filter` is kept by its pointer, so it
 * lives as long as the collection. */
void
smcr_collect_notices_count_error(smcr_collect_t *collection, const char *filter, smcr_when_t when,
                                 const smcr_conn_t *conn)
{
    counted_items_t item = {.notice = {.filter = filter, .count = 1, .first = when},
                            .hosts = nothing,
                            .conn = conn};

    count_items(collection->item_kinds, &item, pool_of_frames(collection));
}

/* Hosts are asked for only if an item is the first of its kind: they cost more than the count. */
void
smcr_collect_notices_end_frame(smcr_collect_t *collection, const packet_info *pinfo)
{
    if (!collection->frame_items)
        return;
    for (unsigned i = 0; i < wmem_array_get_count(collection->frame_items); i++) {
        counted_items_t *first =
            count_items(collection->item_kinds, wmem_array_index(collection->frame_items, i),
                        pool_of_frames(collection));
        if (first)
            first->hosts = hosts_of(collection, pinfo);
    }
    wmem_destroy_array(collection->frame_items);
    collection->frame_items = NULL;
}

/* ---- ICMP errors ---- */

#define ROCE_PORT 4791
#define PROHIBITED "administratively prohibited"

/* Returns why the destination is unreachable, according to type and code of the ICMP message
 * `icmp`. NULL: the message is another ICMP error (RFC 1812 5.2.7.1, RFC 4443 3.1). */
static const char *
reason_of(bool is_ipv4, const uint8_t *icmp)
{
    static const char *const ipv4[16] = {[0] = "network unreachable", [1] = "host unreachable",
                                         [3] = "port unreachable", [9] = PROHIBITED,
                                         [10] = PROHIBITED, [13] = PROHIBITED};
    static const char *const ipv6[16] = {[0] = "no route", [1] = PROHIBITED,
                                         [3] = "address unreachable", [4] = "port unreachable"};

    uint8_t unreachable = is_ipv4 ? 3 : 1; /* type of an ICMP message "destination unreachable" */

    if (icmp[0] != unreachable || icmp[1] >= G_N_ELEMENTS(ipv4))
        return NULL;
    return (is_ipv4 ? ipv4 : ipv6)[icmp[1]];
}

/* Returns text about a packet that was too big for the next link, with the MTU of this link: ICMP
 * type 3 code 4 (RFC 1191 4), ICMPv6 type 2 (RFC 4443 3.2). An old router gives no MTU. NULL: the
 * message is another ICMP error. */
static const char *
too_big_text(wmem_allocator_t *scope, bool is_ipv4, const uint8_t *icmp)
{
    bool is_too_big = is_ipv4 ? icmp[0] == 3 && icmp[1] == 4 : icmp[0] == 2;
    unsigned mtu = (unsigned)icmp[6] << 8 | icmp[7];

    if (!is_ipv4)
        mtu |= (unsigned)icmp[4] << 24 | (unsigned)icmp[5] << 16;
    if (!is_too_big)
        return NULL;
    return mtu ? wmem_strdup_printf(scope, "too big for MTU %u", mtu) : "too big for the next MTU";
}

/* Returns the protocol of the packet that an ICMP error quotes: "RoCE" for UDP destination port
 * 4791, "TCP" for TCP, NULL for any other protocol. */
static const char *
protocol_of(smcr_host_bytes_t frame, const smcr_host_ip_packet_t *quote)
{
    uint32_t ports = quote->offset + quote->header_length;
    bool is_roce = quote->next == IP_PROTO_UDP && ports + 4 <= frame.length &&
                   smcr_wire_number16(&frame.bytes[ports + 2]) == ROCE_PORT;

    if (is_roce)
        return "RoCE";
    return quote->next == IP_PROTO_TCP ? "TCP" : NULL;
}

/* Returns an address of the IP packet as text: the destination if `is_destination`, else the
 * source. */
static const char *
address_of(wmem_allocator_t *scope, smcr_host_bytes_t frame, const smcr_host_ip_packet_t *ip,
           bool is_destination)
{
    const struct {
        int type;
        unsigned length, source; /* length of an address, offset of the source in the header,
                                    bytes */
    } ipv4 = {AT_IPv4, 4, 12}, ipv6 = {AT_IPv6, 16, 8}, header = ip->version == 4 ? ipv4 : ipv6;
    address addr;

    set_address(&addr, header.type, (int)header.length,
                &frame.bytes[ip->offset + header.source + (is_destination ? header.length : 0)]);
    return address_to_str(scope, &addr);
}

/* Whether another capture point has shown the ICMP error before; false if the file has one capture
 * point. Two errors are the same if their IP identifications and the first bytes of their messages
 * are equal: no router changes these. Keeps the error for the next call. */
static bool
is_of_other_point(smcr_collect_t *collection, const packet_info *pinfo, smcr_host_bytes_t frame,
                  const smcr_host_ip_packet_t *error)
{
    enum { COMPARED = 48 }; /* bytes: headers of ICMP, IPv4, UDP, and the beginning of the BTH */
    uint32_t begin = error->offset + error->header_length;
    uint32_t place = smcr_capture_interface(pinfo) + 1;

    if (!smcr_state_points(smcr_capture_state()))
        return false;
    if (!collection->icmp_errors)
        collection->icmp_errors = wmem_map_new(collection->scope, g_direct_hash, g_direct_equal);
    uint32_t message = smcr_wire_hash(&frame.bytes[begin], MIN(frame.length - begin, COMPARED));
    void *key = GUINT_TO_POINTER(message ^ (uint32_t)error->id << 16);
    uint32_t before = GPOINTER_TO_UINT(wmem_map_lookup(collection->icmp_errors, key));
    if (!before)
        wmem_map_insert(collection->icmp_errors, key, GUINT_TO_POINTER(place));
    return before && before != place;
}

/* The texts of the frame are copied only for the first error of a kind. All others add to its
 * count. */
void
smcr_collect_notices_undelivered(smcr_collect_t *collection, const packet_info *pinfo,
                                 smcr_host_bytes_t frame, const smcr_host_ip_packet_t *error)
{
    const uint8_t *icmp = &frame.bytes[error->offset + error->header_length];
    smcr_host_ip_packet_t quote;
    const char *protocol, *reason;

    if (!smcr_host_ip_packet_quoted(frame, error, &quote) ||
        !(protocol = protocol_of(frame, &quote)) ||
        is_of_other_point(collection, pinfo, frame, error))
        return;
    reason = reason_of(error->version == 4, icmp);
    if (!reason && strcmp(protocol, "RoCE") == 0) /* TCP adapts its segments to the path MTU */
        reason = too_big_text(pinfo->pool, error->version == 4, icmp);
    if (!reason)
        return;
    const char *from = address_of(pinfo->pool, frame, &quote, false);
    const char *to = address_of(pinfo->pool, frame, &quote, true);
    const char *text = wmem_strdup_printf(
        pinfo->pool, "%s reports %s %s", address_of(pinfo->pool, frame, error, false), protocol,
        reason);
    counted_items_t item = {
        .notice = {.filter = wmem_strdup_printf(pinfo->pool, "icmp %s %s %s", from, to, text),
                   .count = 1, .first = smcr_capture_when(pinfo)}};
    counted_items_t *first = count_items(collection->item_kinds, &item, pool_of_frames(collection));

    if (!first)
        return;
    first->notice.filter = wmem_strdup(collection->scope, item.notice.filter);
    first->notice.kind = wmem_strdup(collection->scope, text);
    first->hosts = nothing;
    first->hosts.src = wmem_strdup(collection->scope, from);
    first->hosts.dst = wmem_strdup(collection->scope, to);
}

/* ---- reporting ---- */

/* Returns the expert item that a second pass would raise; NULL: later packets have not confirmed
 * it. */
static const expert_field *
confirmed_item(const claimed_t *claimed)
{
    const smcr_state_t *state = smcr_capture_state();

    if (claimed->request)
        return smcr_evidence_is_unanswered(state, claimed->request) ? &ei_smcr_no_response : NULL;
    if (claimed->confirmed)
        return smcr_evidence_leaves_out_roce(claimed->confirmed) ? &ei_smcr_no_roce : NULL;
    return smcr_doubt_proof_holds(state, claimed->event->deferred_check)
               ? smcr_show_event_expert(claimed->event)
               : NULL;
}

/* Counts an expert item that the first pass has not raised. A second pass would raise it under two
 * conditions: later packets have confirmed it, and the preference smcr.strict does not suppress
 * it. */
static void
count_claimed(wmem_array_t *kinds, const claimed_t *claimed, wmem_allocator_t *frames)
{
    const expert_field *expert = confirmed_item(claimed);
    const smcr_item_expert_row_t *row = expert ? smcr_item_expert_row(expert) : NULL;
    counted_items_t kind = claimed->kind;

    if (!row || (row->strict && !smcr_items_strict))
        return;
    kind.notice = (smcr_figure_notice_t){.filter = row->filter,
                                         .severity = row->severity,
                                         .group = row->group,
                                         .by = kind.notice.by,
                                         .count = 1,
                                         .first = kind.notice.first,
                                         .last = kind.notice.first.frame,
                                         .kind = proto_registrar_get_name(expert->hf)};
    count_items(kinds, &kind, frames);
}

SMCR_FIGURE_ORDER(by_frame, counted_items_t, kind, kind->notice.first.frame)

/* Returns a subject with the numbers of the connection and of the link; either may be NULL. */
static smcr_figure_subject_t
subject_of(const smcr_conn_t *conn, const smcr_link_t *link)
{
    smcr_figure_subject_t subject = nothing;

    if (conn)
        subject.stream = conn->index;
    if (!link)
        return subject;
    subject.group = smcr_collect_lgr_number(link->lgr);
    if (link->has_number)
        subject.link = link->number;
    return subject;
}

/* Writes the frames of the kind into the notice, in the order in which they were counted. `scope`
 * owns them. */
static void
fill_occurrences(const smcr_collect_t *collection, smcr_figure_notice_t *notice,
                 const counted_items_t *kind, wmem_allocator_t *scope)
{
    bool is_retransmission = strcmp(notice->filter, "smcr.packet_retransmitted") == 0;
    uint32_t count = kind->frames ? wmem_array_get_count(kind->frames) : 0;
    smcr_figure_occurrence_t *occurrences =
        wmem_alloc_array(scope, smcr_figure_occurrence_t, count);

    for (uint32_t i = 0; i < count; i++) {
        const counted_frame_t *frame = wmem_array_index(kind->frames, i);
        smcr_figure_subject_t subject = subject_of(frame->conn, frame->link);
        occurrences[i] = (smcr_figure_occurrence_t){frame->frame, subject.stream, subject.group,
                                                    subject.link, false};
        if (is_retransmission)
            occurrences[i].is_in_silence = smcr_collect_flow_times_is_in_silence(
                collection, frame->link, frame->flow, frame->frame);
    }
    notice->occurrences = occurrences;
    notice->occurrence_count = count;
}

/* Returns the notice of a kind together with its subject. Numbers of connections, groups and links
 * are read when the report is made: the state may join connections or groups after the item was
 * counted. */
static smcr_figure_notice_t
with_subject(const smcr_collect_t *collection, const counted_items_t *kind,
             wmem_allocator_t *scope)
{
    smcr_figure_notice_t notice = kind->notice;
    smcr_figure_subject_t *subject = wmem_new(scope, smcr_figure_subject_t);

    *subject = subject_of(kind->conn, kind->link);
    subject->src = kind->hosts.src;
    subject->dst = kind->hosts.dst;
    notice.subject = subject;
    notice.has_other_conns =
        kind->other_conn && subject_of(kind->other_conn, NULL).stream != subject->stream;
    fill_occurrences(collection, &notice, kind, scope);
    return notice;
}

/* Gives each kind a copy of its frames, so that frames can be added without changing the
 * collection. */
static void
copy_frames(wmem_array_t *kinds, wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < wmem_array_get_count(kinds); i++) {
        counted_items_t *kind = wmem_array_index(kinds, i);
        wmem_array_t *kept = kind->frames;
        if (!kept)
            continue;
        kind->frames = wmem_array_new(scope, sizeof(counted_frame_t));
        wmem_array_append(kind->frames, wmem_array_get_raw(kept),
                          wmem_array_get_count(kept));
    }
}

/* Whether the items are breaches of a rule for several packets, counted before a later packet has
 * shown that TCP and RoCE have times of two clocks: their order means nothing, so nobody has broken
 * a rule. */
static bool
is_of_order(const counted_items_t *kind)
{
    return kind->link && kind->link->lgr->clocks_differ &&
           kind->is_event && smcr_item_is_breach(kind->notice.group, kind->notice.severity);
}

/* Events that need a confirmation are counted in a copy: for a later report the answer may be
 * another one. */
wmem_array_t *
smcr_collect_notices_all(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *kinds = wmem_array_new(scope, sizeof(counted_items_t));
    wmem_array_t *all = wmem_array_new(scope, sizeof(smcr_figure_notice_t));
    unsigned claims = wmem_array_get_count(collection->deferred_checks);

    if (wmem_array_get_count(collection->item_kinds))
        wmem_array_append(kinds, wmem_array_get_raw(collection->item_kinds),
                          wmem_array_get_count(collection->item_kinds));
    if (claims)
        copy_frames(kinds, scope);
    for (unsigned i = 0; i < claims; i++)
        count_claimed(kinds, wmem_array_index(collection->deferred_checks, i),
                      collection->keeps_frames ? scope : NULL);
    if (claims)
        wmem_array_sort(kinds, by_frame);
    for (unsigned i = 0; i < wmem_array_get_count(kinds); i++) {
        const counted_items_t *kind = wmem_array_index(kinds, i);
        if (is_of_order(kind))
            continue;
        smcr_figure_notice_t notice = with_subject(collection, kind, scope);
        wmem_array_append_one(all, notice);
    }
    return all;
}

/* The words in the report are the names of the expert items without "smcr.": scripts rely on
 * them. */
void
smcr_collect_notices_report_breaches(const smcr_collect_t *collection,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    wmem_array_t *notices = smcr_collect_notices_all(collection, scope);

    for (unsigned i = 0; i < wmem_array_get_count(notices); i++) {
        const smcr_figure_notice_t *notice = wmem_array_index(notices, i);

        if (!smcr_item_is_breach(notice->group, notice->severity))
            continue;
        smcr_entry_breach_t *entry = SMCR_FIGURE_ADD(breach, list, scope);
        entry->kind = notice->filter + strlen(PREFIX);
        entry->by = notice->by;
        entry->count = notice->count;
        entry->frame = notice->first;
    }
}
