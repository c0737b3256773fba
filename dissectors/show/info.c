/* Raises the expert items of the events in a record, and writes the Info column: trouble,
 * the connection or link of the packet, and which packet an acknowledgement answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include <epan/addr_resolv.h>
#include <wsutil/utf8_entities.h>

#include "generated.h"

/* ---- events ---- */

/* The expert item of each event. */
#define EXPERT(ei, filter, group, severity, sentence) [SMCR_EVENT_##ei] = &ei_smcr_##ei,
static expert_field *const experts[] = {
#include "experts.def"
};

/* Whether the event is about the receiver's window. Such an event depends on how much the reader
 * has read, so event_holds() shows it only if the capture has all packets of the reader. */
static bool
is_of_window(smcr_event_id_t id)
{
    switch (id) {
    case SMCR_EVENT_window_full:
    case SMCR_EVENT_window_opened:
    case SMCR_EVENT_window_small_write:
    case SMCR_EVENT_window_small_update:
    case SMCR_EVENT_window_needless_update:
    case SMCR_EVENT_window_late_update:
        return true;
    default:
        return false;
    }
}

/* Whether the event is a breach in a link group whose TCP and RoCE packets have times of two clocks
 * that differ. Then the capture does not show the order of TCP and RoCE packets, on which a breach
 * may depend. So no breach of the group is shown. */
static bool
is_of_order(const smcr_record_t *record, const smcr_event_t *event)
{
    const smcr_item_expert_row_t *row = smcr_item_expert_row(experts[event->id]);

    return record->link && record->link->lgr->clocks_differ &&
           smcr_item_is_breach(row->group, row->severity);
}

/* Whether the event says that CLC messages are missing which the capture has later, since TCP and
 * RoCE, or the two hosts, have times of two clocks. */
static bool
is_of_late_clc(const smcr_record_t *record, const smcr_event_t *event)
{
    const smcr_conn_t *conn = record->conn;

    if (!conn || !conn->lgr || !conn->lgr->clocks_differ || !conn->accept_frame)
        return false;
    return event->id == SMCR_EVENT_conn_late || event->id == SMCR_EVENT_cdc_unknown_token ||
           event->id == SMCR_EVENT_clc_confirm_without_accept;
}

bool
smcr_show_event_at_once(const smcr_event_t *event)
{
    return event->id == SMCR_EVENT_silent || event->id == SMCR_EVENT_llc_no_request ||
           event->id == SMCR_EVENT_write_no_start;
}

/* Whether the event is shown. 1. Events of the receiver's window are shown only if the capture
 * has all packets of the reader. 2. An event with a deferred check is shown only in the second
 * pass, and only if later packets confirm the event. 3. Exception: "Peer silent", a response
 * whose request is missing, and an RDMA WRITE whose beginning is missing are also shown in the
 * first pass, and in the second pass only if later packets confirm it. 4. A breach, or a missing
 * CLC message, is not shown if packets prove that the capture has times of two clocks. */
static bool
event_holds(const packet_info *pinfo, const smcr_record_t *record, const smcr_event_t *event)
{
    if (is_of_window(event->id) && !smcr_evidence_hears_reader(record, pinfo->num))
        return false;
    if (is_of_order(record, event) || is_of_late_clc(record, event))
        return false;
    if (!event->deferred_check)
        return true;
    if (!pinfo->fd->visited)
        return smcr_show_event_at_once(event);
    return smcr_doubt_proof_holds(smcr_capture_state(), event->deferred_check);
}

const expert_field *
smcr_show_event_expert(const smcr_event_t *event)
{
    return experts[event->id];
}

/* Returns the event's own sentence; NULL: the sentence of its expert item. */
static const char *
event_text(packet_info *pinfo, const smcr_record_t *record, const smcr_event_t *event)
{
    const smcr_socket_t *socket = record->conn ? record->conn->socket : NULL;

    if (event->id != SMCR_EVENT_conn_late || !socket)
        return event->text;
    return wmem_strdup_printf(pinfo->pool,
                              "CLC messages not captured; netlink reports the ports in frame %u",
                              socket->first.frame);
}

void
smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record)
{
    for (const smcr_event_t *event = record->events; event; event = event->next) {
        if (event_holds(pinfo, record, event))
            smcr_item_raise_text(pinfo, item, experts[event->id], event_text(pinfo, record, event));
    }
}

/* ---- the connection or link of a packet ---- */

void
smcr_info_begin_tcp(packet_info *pinfo)
{
    col_clear(pinfo->cinfo, COL_INFO);
    col_append_ports(pinfo->cinfo, COL_INFO, PT_TCP, (uint16_t)pinfo->srcport,
                     (uint16_t)pinfo->destport);
    col_append_str(pinfo->cinfo, COL_INFO, " ");
}

/* Whether the TCP connection of the packet and the packet's direction are known. */
static bool
has_ports(const smcr_record_t *record)
{
    return record->conn && record->conn->conversation && record->direction >= 0;
}

/* Begins the Info column with the ports of the TCP connection as names of services, by Wireshark's
 * own function. put_owner() writes ports as numbers, which is faster. */
static void
begin_with_names(packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_conn_t *conn = record->conn;

    col_clear(pinfo->cinfo, COL_INFO);
    col_append_ports(pinfo->cinfo, COL_INFO, PT_TCP, conn->port[record->direction],
                     conn->port[!record->direction]);
    col_append_str(pinfo->cinfo, COL_INFO, " ");
}

/* Writes the connection of the packet, for the Info column. If the TCP connection and the packet's
 * direction are known: the ports, the sender's port first, as "54558 → 8080 ". Otherwise the number
 * of the connection, as "Connection 3: ". If the connection is not known: the number of the link,
 * as "Link 1: ", or nothing. */
static void
put_owner(smcr_quick_text_t *to, const smcr_record_t *record)
{
    const smcr_conn_t *conn = record->conn;

    if (has_ports(record)) {
        smcr_quick_text_put_number(to, "", conn->port[record->direction]);
        smcr_quick_text_put_number(to, " " UTF8_RIGHTWARDS_ARROW " ",
                                   conn->port[!record->direction]);
        smcr_quick_text_put(to, " ");
    } else if (conn) {
        smcr_quick_text_put_number(to, "Connection ", conn->index);
        smcr_quick_text_put(to, ": ");
    } else if (record->has_number) {
        smcr_quick_text_put_number(to, "Link ", record->link->number);
        smcr_quick_text_put(to, ": ");
    }
}

/* Writes length and offset of an RDMA WRITE packet, or of data that a tap has copied. */
static void
put_write(smcr_quick_text_t *to, const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    const char *name = smcr_record_tapped(record) ? "Data Len=" : "RDMA WRITE Len=";

    smcr_quick_text_put_number(to, name, place->length);
    if (place->index && smcr_show_knows_place(record))
        smcr_quick_text_put_number(to, " Offset=", place->offset);
}

/* Sizes of the texts that the Info column begins with, bytes with the zero byte. The texts are in
 * the packet's pool, so that the column need not copy them (col_set_str()). */
#define WRITE_TEXT 128
#define ANSWER_TEXT 32

/* Runs for most packets: names of ports are looked up only if the user wants names. */
void
smcr_info_begin(packet_info *pinfo, const smcr_record_t *record)
{
    bool is_named = gbl_resolv_flags.transport_name && has_ports(record);

    if (!pinfo->cinfo)
        return; /* nobody wants columns: tshark -2 in its first pass, tshark -q */
    char *text = (char *)wmem_alloc(pinfo->pool, WRITE_TEXT);
    smcr_quick_text_t to = smcr_quick_text_begin(text, WRITE_TEXT);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, smcr_show_protocol(record));
    if (is_named)
        begin_with_names(pinfo, record);
    else
        put_owner(&to, record);
    if (record->kind == SMCR_RECORD_WRITE)
        put_write(&to, record);
    if (is_named)
        col_append_str(pinfo->cinfo, COL_INFO, text);
    else
        col_set_str(pinfo->cinfo, COL_INFO, text);
}

/* As for a CDC message, "[Writer blocked]" and "[Abort]" are put before all other text. */
void
smcr_info_immediate(packet_info *pinfo, uint32_t immediate, const smcr_cdc_t *cdc)
{
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(immediate);

    if (!pinfo->cinfo)
        return;
    col_append_fstr(pinfo->cinfo, COL_INFO, " %s",
                    val_to_str_const(read.opcode, smcr_values_immediates, "?"));
    if (read.parts->step)
        col_append_fstr(pinfo->cinfo, COL_INFO, " Step=%u", read.step);
    if (read.parts->credits)
        col_append_fstr(pinfo->cinfo, COL_INFO, " Credits=%u", read.credits);
    col_append_str(pinfo->cinfo, COL_INFO, smcr_cdc_flags_text(pinfo, cdc));
    if (read.flags & SMCR_CDC_FLAG_BLOCKED)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[Writer blocked] ");
    if (read.state & SMCR_CDC_STATE_ABORT)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[Abort] ");
}

/* ---- trouble ---- */

/* Returns the cause of the retransmission that the event reports; NULL: the cause is not known, or
 * the event reports no retransmission. */
static const char *
resend_cause(const smcr_record_t *record, smcr_event_id_t event)
{
    static const char *const causes[] = {
        [SMCR_CAUSE_RNR] = "RNR NAK",
        [SMCR_CAUSE_NAK] = "NAK",
        [SMCR_CAUSE_READ] = "READ re-requested",
        [SMCR_CAUSE_TIMEOUT] = "timeout",
    };
    bool is_retransmission =
        event == SMCR_EVENT_retransmission || event == SMCR_EVENT_sent_to_nobody;

    return is_retransmission && record->step ? causes[record->step->cause] : NULL;
}

/* Adds "[word] " to the text. If the event is a retransmission whose cause is known, adds
 * "[word: cause] ". */
static void
add_event(wmem_strbuf_t *text, const smcr_record_t *record, smcr_event_id_t event, const char *word)
{
    const char *cause = resend_cause(record, event);

    if (cause)
        wmem_strbuf_append_printf(text, "[%s: %s] ", word, cause);
    else
        wmem_strbuf_append_printf(text, "[%s] ", word);
}

/* Adds "[word] " to the text for each shown event of the record that has a word for the Info
 * column. */
static void
add_events(wmem_strbuf_t *text, const packet_info *pinfo, const smcr_record_t *record)
{
    static const char *const words[SMCR_EVENTS] = {
        [SMCR_EVENT_lgr_lost] = "Connections lost",
        [SMCR_EVENT_conn_moved] = "Failover",
        [SMCR_EVENT_retransmission] = "Retransmission",
        [SMCR_EVENT_icrc_bad] = "ICRC wrong",
        [SMCR_EVENT_sent_to_nobody] = "Retransmission",
        [SMCR_EVENT_copy] = "Duplicate",
        [SMCR_EVENT_absent] = "Previous packets not captured",
        [SMCR_EVENT_silent] = "Peer silent",
        [SMCR_EVENT_cnp] = "Congestion notification",
        [SMCR_EVENT_cm_repeat] = "Retransmission",
        [SMCR_EVENT_window_overwritten] = "Data overwritten",
        [SMCR_EVENT_window_full] = "Window full",
        [SMCR_EVENT_credits_used_up] = "No credits",
        [SMCR_EVENT_window_opened] = "Window update",
    };

    for (const smcr_event_t *event = record->events; event; event = event->next)
        if (words[event->id] && event_holds(pinfo, record, event))
            add_event(text, record, event->id, words[event->id]);
}

/* Whether the packet may get a word in brackets in the Info column: for an event, for a sequence
 * gap before the packet, for the mark CE, or because the packet came out of order. Most packets get
 * none. */
static bool
may_have_trouble(const smcr_record_t *record, bool is_overtaken)
{
    return record->events || record->gap_frame || record->ce || is_overtaken;
}

/* The fence keeps the words if another dissector clears the column. */
void
smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record)
{
    bool is_overtaken = smcr_analysis_overtaken_by(pinfo, record);

    if (!may_have_trouble(record, is_overtaken))
        return;
    wmem_strbuf_t *text = wmem_strbuf_new(pinfo->pool, "");

    add_events(text, pinfo, record);
    if (is_overtaken)
        wmem_strbuf_append(text, "[Out-Of-Order] ");
    if (record->gap_frame && !record->missing_before)
        wmem_strbuf_append(text, "[After gap] ");
    if (record->ce)
        wmem_strbuf_append(text, "[CE] ");
    if (wmem_strbuf_get_len(text))
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "%s", wmem_strbuf_get_str(text));
}

/* ---- acknowledgements ---- */

/* The texts have to be those of InfiniBand's dissector, letter by letter: a packet must look the
 * same whether InfiniBand's dissector was called or not. */
void
smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce)
{
    if (!pinfo->cinfo)
        return;
    char *text = (char *)wmem_alloc(pinfo->pool, ANSWER_TEXT);
    smcr_quick_text_t to = smcr_quick_text_begin(text, ANSWER_TEXT);

    smcr_quick_text_put_qpn(&to, "RC Acknowledge QP=", roce->destination.qpn);
    smcr_quick_text_put(&to, " ");
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "RRoCE");
    col_set_str(pinfo->cinfo, COL_INFO, text);
}

/* Appends words to the Info column, after a space. Another dissector may have written the column
 * without a space at its end. */
static void
append_words(packet_info *pinfo, const char *words)
{
    const char *before = col_get_text(pinfo->cinfo, COL_INFO);

    if (before && *before && !g_str_has_suffix(before, " "))
        col_append_str(pinfo->cinfo, COL_INFO, " ");
    col_append_str(pinfo->cinfo, COL_INFO, words);
}

/* Puts "[NAK: reason] " before all other text of the Info column, and "refuses frame 7" at its end.
 * If the capture has no packet with the PSN of the NAK, the end is "refuses PSN 1234". `verb`: such
 * as "refuses" or "expects". The text of InfiniBand's dissector for an acknowledgement packet is
 * replaced, since it may have the reason, too. */
static void
add_refusal(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce,
            const char *reason, const char *verb)
{
    if (roce->opcode == SMCR_RC_ACK)
        col_add_fstr(pinfo->cinfo, COL_INFO, "RC Acknowledge QP=0x%06x ", roce->destination.qpn);
    col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[%s] ", reason);
    if (record->refuses)
        append_words(pinfo, wmem_strdup_printf(pinfo->pool, "%s frame %u", verb, record->refuses));
    else
        append_words(pinfo, wmem_strdup_printf(pinfo->pool, "%s PSN %u", verb, roce->psn));
}

/* Adds a NAK and what it refuses to the Info column. */
static void
add_nak(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    unsigned code = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE);
    const char *reason =
        wmem_strdup_printf(pinfo->pool, "NAK: %s",
                           val_to_str_const(code, smcr_values_nak_codes, "unknown reason"));

    add_refusal(pinfo, record, roce, reason,
                code == SMCR_IB_NAK_PSN_SEQUENCE ? "expects" : "refuses");
}

/* Adds an RNR NAK to the Info column, with the time for which it asks the sender to wait. */
static void
add_rnr_nak(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    unsigned code = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE);
    const char *reason =
        wmem_strdup_printf(pinfo->pool, "RNR NAK: wait %g ms", smcr_ib_rnr_timer_ms(code));

    add_refusal(pinfo, record, roce, reason, "is not ready for");
}

/* Writes the Info column of a CNP, for which InfiniBand's dissector has no name. */
static void
set_cnp(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    uint32_t ce_frame = record->cnp->ce.frame;

    col_add_fstr(pinfo->cinfo, COL_INFO, "CNP QP=0x%06x", roce->destination.qpn);
    if (ce_frame)
        col_append_fstr(pinfo->cinfo, COL_INFO, " answers CE since frame %u", ce_frame);
}

/* Adds to the Info column which frame the packet acknowledges or answers. If the acknowledgement
 * has no time, an earlier packet has acknowledged the same: "duplicate" is added. */
static void
add_answer(packet_info *pinfo, const smcr_record_wait_t *acks, const smcr_ib_headers_t *roce)
{
    char text[64];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put_number(
        &to, roce->opcode == SMCR_RC_ACK ? "ACK of frame " : "answers frame ", acks->frame);
    if (acks->time == SMCR_RECORD_NO_TIME)
        smcr_quick_text_put(&to, ", duplicate");
    append_words(pinfo, text);
}

/* If a packet is several of these, only the first is written: CNP, NAK, RNR NAK,
 * acknowledgement. */
void
smcr_info_answer(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    int kind = roce->has_aeth ? (int)smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND) : -1;

    if (record->cnp)
        set_cnp(pinfo, record, roce);
    else if (kind == SMCR_IB_SYNDROME_NAK)
        add_nak(pinfo, record, roce);
    else if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        add_rnr_nak(pinfo, record, roce);
    else if (record->acks.frame)
        add_answer(pinfo, &record->acks, roce);
}
