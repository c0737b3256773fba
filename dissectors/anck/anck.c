/* The tap of ANCK (net/smc/smc_stats.c there): with a device set by `smcr dumpdev set`, the kernel
 * sends each CDC message and all data, of SMC-R and of SMC-D, to this device as UDP, with the
 * addresses and ports of the TCP connection. So a capture on that device shows connections whose
 * packets no network carries: those of eRDMA, of ISM and of the loopback device.
 *
 * A header comes before the content: magic number (4 bytes), version of the header, version of
 * SMC, mode and type (1 byte each), length of header and content (2 bytes), and reserved bytes,
 * which are zero. Three things are not known from public source: the number of the reserved bytes,
 * the values of the type, and the version of the header. The order of the members is taken from the
 * order in which the source sets them. So:
 *
 * - The plugin learns which type is a message, and which type is data. A message of SMC-R has 44
 *   bytes and begins with 0xFE and its length. A sent message of SMC-D has 32 bytes and begins with
 *   0xFE and seven zeros.
 * - The length of the header is the length of such a packet without the message. Before the first
 *   message, the length is assumed: 16 bytes if bytes 10 to 15 are zero, else 12.
 *
 * The kernels of sender and receiver copy data before the message that announces the data. Public
 * source shows this of the receiver only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "anck.h"

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "packet/packet.h"
#include "wire/wire.h"

enum {
    /* offsets of the members of the header; RESERVED_AT: of the reserved bytes */
    MAGIC_AT = 0, VERSION_AT = 4, SMC_VERSION_AT = 5, MODE_AT = 6, TYPE_AT = 7, LENGTH_AT = 8,
    RESERVED_AT = 10,
    HEADER_MIN = 12,     /* length of the members before the reserved bytes, rounded up to a
                            multiple of 4 */
    HEADER_USUAL = 16,   /* length that is assumed before it is known */
    HEADER_MAX = 64,     /* if the header would be longer, the content is no message */
    VERSION_ASSUMED = 1, /* version of the header that does not raise an expert item */
};

/* Layer number of the record of the packet; the second part of its data has the next number. RoCE
 * packets have lower layer numbers. */
#define LAYER 0xc0

/* What the first pass has learned of the tap's headers in the open file. */
static struct {
    unsigned header_length; /* length of the header, bytes; 0: not known */
    uint8_t kind[256];      /* by type in the header: the content of these packets, enum
                               smcr_wire_anck_kind */
} known;

static dissector_handle_t handle; /* handle of dissect() */
static heur_dtbl_entry_t *heuristic; /* the heuristic for UDP, which users can disable */

/* What the first pass has learned of a packet, for all passes. */
typedef struct {
    uint8_t kind;           /* content of the packet, enum smcr_wire_anck_kind */
    uint8_t header_length;  /* length of the header, bytes; 0: nothing was learned */
    bool is_assumed;        /* `header_length` was not known when the packet came, and is assumed */
    uint8_t part_count;     /* number of `parts`; 0: the content is a duplicate, or its place in
                               the streams is not known */
    uint8_t notice;         /* why the content has no place, or what the user has to know of it:
                               smcr_tapped_notice_t */
    int raw_offset;         /* offset in the frame, or in decrypted data of the frame, bytes: which
                               packet of the frame was learned */
    smcr_cdc_t cdc;         /* the message, with the numbers that the state has computed for it */
    bool is_doubtful;       /* data or messages are missing before the message, or out of order */
    uint64_t missing;       /* number of bytes that the message announces and that are not captured
                               before it; they may come later */
    smcr_tapped_part_t parts[SMCR_TAPPED_PARTS]; /* place of each part of the content */
} kept_t;

/* A packet while it is dissected. */
typedef struct {
    tvbuff_t *tvb; /* the packet: UDP's payload */
    packet_info *pinfo; /* the frame */
    proto_tree *tree;       /* tree of the frame */
    proto_tree *below;      /* subtree of the header */
    const kept_t *kept; /* what the first pass has learned of the packet */
    tvbuff_t *content;      /* the bytes after the header; NULL: none is captured */
} display_t;

/* ---- the header ---- */

/* Whether the packet begins with the magic number, and all members of the header before the
 * reserved bytes are captured. */
static bool
is_anck(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) >= HEADER_MIN &&
           tvb_get_ntohl(tvb, MAGIC_AT) == SMCR_WIRE_ANCK_MAGIC;
}

/* Whether the content is of SMC-D; false: of SMC-R. */
static bool
is_smcd(tvbuff_t *tvb)
{
    return tvb_get_uint8(tvb, MODE_AT) == SMCR_WIRE_ANCK_SMCD;
}

/* Returns the number of bytes that a CDC message has in this packet's mode. */
static unsigned
message_length(tvbuff_t *tvb)
{
    return is_smcd(tvb) ? SMCR_CDC_SMCD_LENGTH : SMCR_LLC_LENGTH;
}

/* Whether the bytes from `from` to before `end` are all captured, and all are zero. */
static bool
are_zero(tvbuff_t *tvb, unsigned from, unsigned end)
{
    return tvb_captured_length(tvb) >= end && !smcr_layout_has_bits(tvb, from, end - from);
}

/* Returns the length that the header has if the content is a message, bytes; 0: the content cannot
 * be a message, or the header is truncated. */
static unsigned
header_before_message(tvbuff_t *tvb)
{
    unsigned total = tvb_reported_length(tvb), message = message_length(tvb);

    if (total < message + HEADER_MIN || total > message + HEADER_MAX || total % 4)
        return 0;
    return are_zero(tvb, RESERVED_AT, total - message) ? total - message : 0;
}

/* Whether the first bytes of the content prove a message. `at`: offset of the content in the
 * packet; 0: the content cannot be a message. */
static bool
is_certainly_message(tvbuff_t *tvb, unsigned at)
{
    if (!at || tvb_captured_length(tvb) < at + 8 || tvb_get_uint8(tvb, (int)at) != SMCR_LLC_CDC)
        return false;
    return is_smcd(tvb) ? are_zero(tvb, at + 1, at + 8)
                        : tvb_get_uint8(tvb, (int)at + 1) == SMCR_LLC_LENGTH;
}

/* Whether another type than `type` is known to have this content. */
static bool
another_has(uint8_t type, enum smcr_wire_anck_kind kind)
{
    for (unsigned other = 0; other < array_length(known.kind); other++)
        if (other != type && known.kind[other] == kind)
            return true;
    return false;
}

/* Finds out which content the packets with the type `type` have. There are two types: one has
 * messages, the other has data. The first bytes prove every message except a received one of SMC-D.
 * So for packets of SMC-D without this proof, the content of the other type decides. */
static enum smcr_wire_anck_kind
kind_of(tvbuff_t *tvb, uint8_t type)
{
    unsigned at = header_before_message(tvb);

    if (known.kind[type])
        return known.kind[type];
    if (is_certainly_message(tvb, at))
        return SMCR_WIRE_ANCK_MESSAGE;
    if (!at || !is_smcd(tvb) || another_has(type, SMCR_WIRE_ANCK_MESSAGE))
        return SMCR_WIRE_ANCK_DATA;
    return another_has(type, SMCR_WIRE_ANCK_DATA) ? SMCR_WIRE_ANCK_MESSAGE : SMCR_WIRE_ANCK_UNKNOWN;
}

/* Returns the length of the header to assume while no message has shown it, bytes. */
static unsigned
assumed_length(tvbuff_t *tvb)
{
    return are_zero(tvb, RESERVED_AT, HEADER_USUAL) ? HEADER_USUAL : HEADER_MIN;
}

/* First pass: learns the kind of the content and the length of the header, and stores both in
 * `kept` and `known`. The first message of the file shows the length for all later packets. */
static void
learn_header(tvbuff_t *tvb, kept_t *kept)
{
    uint8_t type = tvb_get_uint8(tvb, TYPE_AT);

    kept->kind = known.kind[type] = (uint8_t)kind_of(tvb, type);
    if (kept->kind == SMCR_WIRE_ANCK_MESSAGE && !known.header_length)
        known.header_length = header_before_message(tvb);
    kept->is_assumed = !known.header_length;
    kept->header_length =
        (uint8_t)(kept->is_assumed ? assumed_length(tvb) : known.header_length);
}

/* ---- learn ---- */

/* Returns the content of the packet; NULL: none of it is captured. */
static tvbuff_t *
content_of(tvbuff_t *tvb, unsigned header_length)
{
    return tvb_captured_length(tvb) > header_length
               ? tvb_new_subset_remaining(tvb, (int)header_length) : NULL;
}

/* Decodes the message `content` of the packet `tvb` into `cdc`, without showing anything. */
static void
decode(tvbuff_t *tvb, tvbuff_t *content, packet_info *pinfo, smcr_cdc_t *cdc)
{
    if (is_smcd(tvb))
        smcr_cdc_decode_smcd(content, pinfo, cdc);
    else
        smcr_cdc_decode(content, pinfo, cdc);
}

/* First pass: lets the state order the message among the packets of its connection, and stores the
 * result in `kept`. */
static void
learn_message(const smcr_arrival_t *arrival, const smcr_tapped_packet_t *packet, kept_t *kept)
{
    smcr_tapped_verdict_t verdict;

    kept->part_count =
        smcr_tapped_take_message(arrival, packet, &kept->cdc, &kept->parts[0], &verdict);
    kept->missing = verdict.missing;
    kept->is_doubtful = verdict.is_doubtful;
    kept->notice = (uint8_t)verdict.notice;
}

/* First pass: learns where the content lies in the streams of its connection, and stores the places
 * in `kept`. `kept->kind` is known. */
static void
learn_content(tvbuff_t *tvb, packet_info *pinfo, tvbuff_t *content, kept_t *kept)
{
    const smcr_arrival_t arrival = smcr_packet_arrival(pinfo);

    if (kept->kind == SMCR_WIRE_ANCK_MESSAGE)
        decode(tvb, content, pinfo, &kept->cdc);
    smcr_tapped_packet_t packet = {.conn = smcr_handshake_claim_tapped(pinfo, !kept->cdc.state),
                                   .interface = smcr_capture_interface(pinfo),
                                   .layer = LAYER,
                                   .is_smcd = is_smcd(tvb),
                                   .version = tvb_get_uint8(tvb, SMC_VERSION_AT)};

    packet.sender = !smcr_handshake_from_client(pinfo, packet.conn);
    smcr_endpoint_gid(&pinfo->src, packet.source);
    smcr_endpoint_gid(&pinfo->dst, packet.destination);
    if (kept->kind == SMCR_WIRE_ANCK_MESSAGE) {
        learn_message(&arrival, &packet, kept);
        return;
    }
    uint32_t captured = tvb_captured_length(content);
    const smcr_tapped_data_t data = {tvb_get_ptr(content, 0, (int)captured), captured,
                                     tvb_reported_length(content)};
    smcr_tapped_notice_t notice;
    kept->part_count =
        (uint8_t)smcr_tapped_take_data(&arrival, &packet, data, kept->parts, &notice);
    kept->notice = (uint8_t)notice;
}

/* First pass: learns the packet. Later passes: returns what the first pass has learned. If a frame
 * has a second packet of the tap (an A-MSDU of IEEE 802.11 has several), nothing is learned of the
 * second packet, and all members of the result are 0 in all passes. */
static const kept_t *
learn(tvbuff_t *tvb, packet_info *pinfo)
{
    static const kept_t nothing;
    bool is_known = pinfo->fd->visited;
    kept_t *kept = p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, LAYER);

    if (is_known || kept) {
        bool is_learned = is_known && kept && kept->raw_offset == tvb_raw_offset(tvb);
        return is_learned ? kept : &nothing;
    }
    kept = wmem_new0(wmem_file_scope(), kept_t);
    kept->raw_offset = tvb_raw_offset(tvb);
    p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, LAYER, kept);
    learn_header(tvb, kept);
    tvbuff_t *content = content_of(tvb, kept->header_length);
    if (content && kept->kind)
        learn_content(tvb, pinfo, content, kept);
    smcr_udp_ports_watch();
    return kept;
}

/* ---- show ---- */

/* Shows the length, and raises an item if it is not that of the UDP packet. */
static void
show_length(const display_t *shown)
{
    proto_item *item = proto_tree_add_item(shown->below, hf_smcr_anck_length, shown->tvb,
                                           LENGTH_AT, 2, ENC_BIG_ENDIAN);

    if (tvb_get_ntohs(shown->tvb, LENGTH_AT) != tvb_reported_length(shown->tvb))
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_length);
}

/* Shows the version of the header, and raises an item if the version is not VERSION_ASSUMED. */
static void
show_version(const display_t *shown)
{
    proto_item *item =
        proto_tree_add_item(shown->below, hf_smcr_anck_version, shown->tvb, VERSION_AT, 1, ENC_NA);

    if (tvb_get_uint8(shown->tvb, VERSION_AT) != VERSION_ASSUMED)
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_version);
}

/* Shows what the first pass has learned of the packet, as generated fields. Raises an expert item
 * in each of four cases: the kind is not known, the length of the header is only assumed, copies
 * may have been forgotten, bytes before the packet are missing. */
static void
show_learned(const display_t *shown)
{
    const kept_t *kept = shown->kept;
    proto_item *item =
        proto_tree_add_uint(shown->below, hf_smcr_anck_kind, shown->tvb, 0, 0, kept->kind);

    proto_item_set_generated(item);
    if (!kept->kind)
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_kind);
    if (!kept->header_length)
        return;
    item = proto_tree_add_uint(shown->below, hf_smcr_anck_header_length, shown->tvb, 0, 0,
                               kept->header_length);
    proto_item_set_generated(item);
    if (kept->kind && kept->is_assumed)
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_assumed);
    if (kept->notice == SMCR_TAPPED_COPIES_FORGOTTEN)
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_copies);
    if (kept->missing) {
        item = proto_tree_add_uint64(shown->below, hf_smcr_anck_missing, shown->tvb, 0, 0,
                                     kept->missing);
        proto_item_set_generated(item);
        smcr_item_raise(shown->pinfo, item, &ei_smcr_anck_missing);
    }
}

/* Shows the header, and sets `shown->below`, under which later items of the packet go. Bytes of a
 * header that is longer than the known members are shown as reserved. */
static void
show_header(display_t *shown)
{
    tvbuff_t *tvb = shown->tvb;
    unsigned end = MIN(MAX(shown->kept->header_length, HEADER_MIN), tvb_captured_length(tvb));
    proto_item *item = proto_tree_add_protocol_format(shown->tree, proto_smcr, tvb, 0, (int)end,
                                                      "SMC, tap of ANCK");

    shown->below = proto_item_add_subtree(item, ett_smcr_anck);
    item = proto_tree_add_item(shown->below, hf_smcr_anck, tvb, 0, (int)end, ENC_NA);
    proto_item_set_hidden(item);
    proto_tree_add_item(shown->below, hf_smcr_anck_magic, tvb, MAGIC_AT, 4, ENC_BIG_ENDIAN);
    show_version(shown);
    proto_tree_add_item(shown->below, hf_smcr_anck_smc_version, tvb, SMC_VERSION_AT, 1, ENC_NA);
    proto_tree_add_item(shown->below, hf_smcr_anck_mode, tvb, MODE_AT, 1, ENC_NA);
    proto_tree_add_item(shown->below, hf_smcr_anck_type, tvb, TYPE_AT, 1, ENC_NA);
    show_length(shown);
    proto_tree_add_item(shown->below, hf_smcr_reserved, tvb, RESERVED_AT, (int)end - RESERVED_AT,
                        ENC_NA);
    show_learned(shown);
}

/* Returns the text for the Info column why the content has no place in a stream; "": its kind is
 * not known. */
static const char *
copy_text(const kept_t *kept)
{
    if (kept->notice == SMCR_TAPPED_COPY_OF_MISSING)
        return ", duplicate of missing data";
    if (kept->notice == SMCR_TAPPED_OUT_OF_ORDER)
        return ", out of order";
    return kept->kind ? ", duplicate" : "";
}

/* Shows content that has no place in a stream, as bytes: a duplicate, content out of order, or
 * content of an unknown kind. */
static void
show_bytes(const display_t *shown)
{
    const char *text = shown->kept->kind == SMCR_WIRE_ANCK_MESSAGE ? "CDC" : "Data";

    col_set_str(shown->pinfo->cinfo, COL_PROTOCOL, is_smcd(shown->tvb) ? "SMC-D" : "SMC-R");
    col_clear(shown->pinfo->cinfo, COL_INFO);
    col_append_fstr(shown->pinfo->cinfo, COL_INFO, "Tap of ANCK: %s%s",
                    shown->kept->kind ? text : "unknown content", copy_text(shown->kept));
    if (shown->content)
        proto_tree_add_item(shown->below, hf_smcr_anck_content, shown->content, 0, -1, ENC_NA);
}

/* Fills in the RoCE packet that would have carried a part of the content. `nth`: index of the part.
 * `at`: offset of the part in the content. */
static void
begin_part(const display_t *shown, unsigned nth, unsigned at, smcr_packet_t *packet)
{
    const smcr_tapped_part_t *part = &shown->kept->parts[nth];
    bool is_message = shown->kept->kind == SMCR_WIRE_ANCK_MESSAGE;
    unsigned length = is_message ? tvb_reported_length(shown->content) : part->length;
    unsigned captured = (unsigned)tvb_captured_length_remaining(shown->content, (int)at);

    smcr_packet_begin(shown->pinfo, packet);
    packet->layer = (uint16_t)(LAYER + nth);
    packet->payload = tvb_new_subset_length_caplen(shown->content, (int)at,
                                                   (int)MIN(captured, length), (int)length);
    packet->roce.opcode = is_message ? SMCR_RC_SEND_ONLY : SMCR_RC_WRITE_ONLY;
    packet->roce.destination.qpn = part->qpn;
    packet->roce.psn = part->psn;
    packet->roce.length = packet->roce.dma_length = length;
    packet->roce.payload_length = (int)length;
    packet->roce.has_reth = !is_message;
    packet->roce.rkey = SMCR_TAPPED_RKEY;
    packet->roce.virtual_address = part->address;
}

/* Learns and shows the content: a message, or data in one or two parts. Each part is learned and
 * shown as a packet of its own. */
static void
show_content(const display_t *shown)
{
    const smcr_packet_tapped_t tapped = {
        .cdc = shown->kept->kind == SMCR_WIRE_ANCK_MESSAGE ? &shown->kept->cdc : NULL,
        .is_smcd = is_smcd(shown->tvb),
        .lacks_before = shown->kept->is_doubtful,
    };
    unsigned at = 0;

    for (unsigned nth = 0; nth < shown->kept->part_count; nth++) {
        smcr_packet_t packet;
        begin_part(shown, nth, at, &packet);
        packet.tapped = &tapped;
        at += shown->kept->parts[nth].length;
        if (nth) {
            col_append_str(shown->pinfo->cinfo, COL_INFO, ", ");
            col_set_fence(shown->pinfo->cinfo, COL_INFO);
        }
        if (smcr_packet_learn(shown->pinfo, &packet))
            smcr_packet_show(shown->pinfo, shown->tree, &packet);
    }
}

/* Dissects a packet of the tap. Returns the bytes used; 0: the packet is none of the tap, and
 * Wireshark asks other dissectors. The packet is learned before it is shown; a packet that an ICMP
 * error quotes is shown, but not learned. */
static int
dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    static const kept_t nothing;
    display_t shown = {.tvb = tvb, .pinfo = pinfo, .tree = tree};

    if (!is_anck(tvb))
        return 0;
    shown.kept = pinfo->flags.in_error_pkt ? &nothing : learn(tvb, pinfo);
    shown.content = content_of(tvb, MAX(shown.kept->header_length, HEADER_MIN));
    show_header(&shown);
    if (shown.content && shown.kept->part_count)
        show_content(&shown);
    else
        show_bytes(&shown);
    return (int)tvb_captured_length(tvb);
}

/* ---- registration ---- */

/* The heuristic for UDP. If a port of the packet belongs to another protocol, UDP does not call the
 * heuristic, and host/udp_ports.c passes the packet to `handle` instead. */
static ws_bool
dissect_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!is_anck(tvb) || !smcr_heuristic_enabled(heuristic))
        return false;
    return call_dissector_only(handle, tvb, pinfo, tree, data) != 0;
}

/* Forgets what was learned of the last file. */
static void
start_file(void)
{
    memset(&known, 0, sizeof known);
}

void
smcr_anck_register(void)
{
    handle = register_dissector("smcr.anck", dissect, proto_smcr);
    register_init_routine(start_file);
}

void
smcr_anck_handoff(void)
{
    heuristic = smcr_heuristic_add("udp", dissect_heuristic, "SMC, tap of ANCK", "smcr_anck");
    smcr_udp_ports_lead(SMCR_WIRE_ANCK_MAGIC, handle);
}
