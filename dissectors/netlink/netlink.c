/* One walker reads all messages by the rows of told.def: attributes have a type and a length,
 * members of structs a place and the width of their field. What fits entirely is learned.
 * Wireshark's dissectors for netlink and for its SOCK_DIAG run as they would without us, and ours
 * is added below where the family is AF_SMC. Generic netlink has a table of families.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "netlink.h"

#include <wsutil/inet_addr.h>
#include <wsutil/utf8_entities.h>

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"

/* Lengths and places of the cooked header, nlmsghdr, genlmsghdr, nlattr, smc_diag_msg; codes. */
enum {
    FAMILY_AT = 14, COOKED_LENGTH = 16, NLMSG_TYPE_AT = 4, FLAGS_AT = 6, DUMP_AT = 8,
    NLMSG_LENGTH = 16, GENL_LENGTH = 4, NLA_LENGTH = 4, NLA_TYPE = 0x3fff,
    OWN_AT = 8, SOCKET_LENGTH = 64, GID_TEXT = 40, AF_SMC = 43, SOCK_DIAG_BY_FAMILY = 20,
};

/* What has a row; structs come last. */
enum {
    IN_TOP, IN_EIDS, IN_SEID, IN_LIMIT, IN_SYS, IN_LGR, IN_V2, IN_R_V2, IN_LINK, IN_LGR_D, IN_DEV,
    IN_PORT, IN_STATS, IN_TECH, IN_SIZE, IN_USE, IN_FBACK, IN_DIAG, IN_REQUEST, IN_SOCKET, IN_CONN,
    IN_LGRINFO, IN_DMB, IN_FALLBACK, NESTS
};

typedef struct {
    const int *hf;
    uint8_t nest, at;
    enum { HOST, WIRE, ASCII, BELOW } kind;
    unsigned more; /* BELOW: the nest. Else what is kept: its place, and its size << 16 */
} attribute_t;

#define NOT 0
#define IN(nest_) IN_##nest_
#define KEPT(of_) (offsetof(smcr_told_t, u.of_) | sizeof(((smcr_told_t *)NULL)->u.of_) << 16)
#define TOLD(nest_, at_, kind_, keep, id, ...) SAME(nest_, at_, kind_, keep, told_##id)
#define SAME(nest_, at_, kind_, keep, id) {&hf_smcr_##id, IN_##nest_, at_, kind_, keep},
static const attribute_t rows[] = {
#include "told.def"
};
static const attribute_t unknown = {.hf = &hf_smcr_netlink_unknown};

/* A message on its way. */
typedef struct {
    packet_info *pinfo;
    proto_item *top; /* its line, and what is below */
    proto_tree *tree;
    unsigned order;       /* of the host: ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN */
    smcr_told_t told;     /* as far as the message has it */
    uint32_t seen[NESTS]; /* a bit for each attribute that has a value, 1 for a struct */
    bool flawed;          /* it does not fit, or the capture lacks some of it */
} walk_t;

/* ---- the walker; each nest and struct has a buffer of its own ---- */

/* Shows `length` bytes as the row has it, and keeps what it keeps. GIDs are texts. */
static void
show_row(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, const attribute_t *row, unsigned at,
         unsigned length)
{
    smcr_layout_walk_t step = {
        .pinfo = walk->pinfo, .tvb = tvb, .tree = tree, .top = walk->top, .order = walk->order};
    unsigned size = row->more >> 16;
    uint8_t *kept = (uint8_t *)&walk->told + (row->more & UINT16_MAX);
    smcr_row_t one = {.hf = row->hf, .length = (uint16_t)length, .peer_order = row->kind == HOST,
                      .also = row->hf == &hf_smcr_told_token ? &hf_smcr_token : NULL,
                      .kind = row->kind == ASCII ? SMCR_ROW_TEXT : SMCR_ROW_SHOW,
                      .keep = row->kind != ASCII && size ? SMCR_KEEP_INTEGER : SMCR_KEEP_NOT,
                      .member = row->more & UINT16_MAX, .member_size = (uint16_t)size};

    if (!smcr_layout_walk(&(smcr_layout_t){.rows = &one, .count = 1, .length = length}, &step, at,
                          &walk->told)) {
        walk->flawed = true;
    } else if (row->hf == &hf_smcr_told_role && size) {
        *kept = *kept == 1;
    } else if (row->kind == ASCII && size) {
        const char *text = smcr_item_peer_text(
            walk->pinfo->pool, tvb_get_ptr(tvb, (int)at, (int)length), length);
        if (size == SMCR_GID_LENGTH)
            ws_inet_pton6(text, (ws_in6_addr *)(void *)kept);
        else
            g_strlcpy((char *)kept, text, size);
    }
}

static void
walk_struct(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest)
{
    unsigned known = 0;

    walk->seen[nest] = 1;
    for (unsigned i = 0; i < array_length(rows) && !walk->flawed; i++) {
        unsigned size = rows[i].more >> 16, width = smcr_layout_width(*rows[i].hf);
        if (rows[i].nest != nest)
            continue;
        if (rows[i].kind == ASCII)
            width = size == SMCR_GID_LENGTH ? GID_TEXT : size;
        known = MAX(known, rows[i].at + width);
        show_row(walk, tvb, tree, &rows[i], rows[i].at, width);
    }
    if (!walk->flawed && known < tvb_captured_length(tvb))
        proto_tree_add_item(tree, hf_smcr_extra_bytes, tvb, (int)known, -1, ENC_NA);
}

static void walk_attributes(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest);

/* An attribute without a value pads. Of 64 bits there may be 32. */
static void
show_attribute(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest, unsigned at,
               unsigned length)
{
    unsigned type = (unsigned)smcr_layout_number(tvb, at + 2, 2, walk->order) & NLA_TYPE, i = 0;
    tvbuff_t *value =
        tvb_new_subset_length(tvb, (int)(at += NLA_LENGTH), (int)(length -= NLA_LENGTH));

    while (i < array_length(rows) && (rows[i].nest != nest || rows[i].at != type))
        i++;
    const attribute_t *row = i < array_length(rows) ? &rows[i] : &unknown;
    unsigned width = row->kind < ASCII ? MAX(1, smcr_layout_width(*row->hf)) : length;
    if (!length)
        return;
    if (row == &unknown || length > width) {
        show_row(walk, tvb, tree, &unknown, at - NLA_LENGTH, length + NLA_LENGTH);
        return;
    }
    walk->seen[nest] |= UINT32_C(1) << type;
    if (row->kind != BELOW) {
        show_row(walk, value, tree, row, 0, length == 4 ? 4 : width);
        return;
    }
    proto_item *item = proto_tree_add_item(tree, *row->hf, value, 0, -1, ENC_NA);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr_told);
    (row->more < IN_REQUEST ? walk_attributes : walk_struct)(walk, value, below, row->more);
}

static void
walk_attributes(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest)
{
    unsigned captured = tvb_captured_length(tvb), length = NLA_LENGTH;

    for (unsigned at = 0; at < tvb_reported_length(tvb); at += (length + 3) & ~3U) {
        if (at + NLA_LENGTH <= captured)
            length = (unsigned)smcr_layout_number(tvb, at, 2, walk->order);
        if (length < NLA_LENGTH || at + MAX(length, NLA_LENGTH) > captured) {
            show_row(walk, tvb, tree, &unknown, at, length < NLA_LENGTH ? UINT16_MAX : length);
            walk->flawed = true;
            return;
        }
        show_attribute(walk, tvb, tree, nest, at, length);
    }
}

static int observer; /* a protocol in name only owns the wrappers: frame.protocols stays */

/* ---- messages ---- */

/* Of the frame that is dissected: how many messages there are, and of which kind; SMCR_TOLD_DONE:
 * of others. It lives as long as the packet. */
typedef struct {
    uint32_t count;
    smcr_told_kind_t kind;
    unsigned come; /* 1: first; 2: a copy, maybe of another time; 0: not known */
} shown_t;

static shown_t *
shown_of(packet_info *pinfo)
{
    shown_t *shown = p_get_proto_data(pinfo->pool, pinfo, observer, 0);

    if (!shown) {
        shown = wmem_new0(pinfo->pool, shown_t);
        p_add_proto_data(pinfo->pool, pinfo, observer, 0, shown);
    }
    return shown;
}

static wmem_map_t *seen; /* checksums of frames: the same bytes again are a copy, or nothing new */

static void
learn(walk_t *walk, tvbuff_t *tvb, unsigned at)
{
    smcr_told_t cut = {.kind = SMCR_TOLD_CUT};
    shown_t *shown = shown_of(walk->pinfo);

    if (walk->pinfo->fd->visited)
        return;
    if (!shown->come) {
        const uint32_t size = walk->pinfo->fd->cap_len;
        g_autofree char *sum = g_compute_checksum_for_data(
            G_CHECKSUM_MD5, tvb_get_ptr(tvb_get_ds_tvb(tvb), 0, (int)size), size);
        shown->come = wmem_map_insert(seen, wmem_strdup(wmem_file_scope(), sum), seen) ? 2 : 1;
    }
    if (shown->come > 1 && walk->told.kind != SMCR_TOLD_DONE)
        return;
    cut.dump = walk->told.dump = smcr_layout_number(tvb, at + DUMP_AT, 8, walk->order) ^
        (uint64_t)walk->pinfo->rec->rec_header.packet_header.interface_id << 48; /* of this host */
    if (walk->flawed || walk->pinfo->fd->cap_len < walk->pinfo->fd->pkt_len)
        smcr_packet_learn_told(walk->pinfo, &cut, shown->count);
    if (!walk->flawed)
        smcr_packet_learn_told(walk->pinfo, &walk->told, shown->count);
}

/* Names the message, whose nlmsghdr is the first of `tvb`; in the Info column many are counted. */
static int
finish(walk_t *walk, tvbuff_t *tvb, const char *text)
{
    static const char *const names[] = {"sockets of AF_SMC", "link groups", "links", "messages"};
    packet_info *pinfo = walk->pinfo;
    shown_t *shown = shown_of(pinfo);
    smcr_record_t record;

    if (shown->count++ == 0 || shown->kind != walk->told.kind)
        shown->kind = shown->count == 1 ? walk->told.kind : SMCR_TOLD_DONE;
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
    col_add_str(pinfo->cinfo, COL_INFO, shown->count == 1 ? text :
                wmem_strdup_printf(pinfo->pool, "%u %s", shown->count, names[shown->kind]));
    proto_item_append_text(walk->top, ", %s", text);
    smcr_item_hide(proto_tree_add_string(walk->tree, hf_smcr_told, tvb, 0, 0, text));
    if (walk->told.kind != SMCR_TOLD_DONE)
        learn(walk, tvb, 0);
    if (smcr_packet_learned(pinfo, SMCR_PACKET_TOLD, shown->count, &record))
        smcr_show_events(pinfo, walk->top, &record);
    if (walk->told.kind == SMCR_TOLD_SOCKET)
        smcr_show_socket(tvb, pinfo, walk->tree,
                         smcr_socket_of(smcr_capture_state(), &walk->told.u.socket));
    return (int)tvb_captured_length(tvb);
}

static walk_t
begin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
      const struct packet_netlink_data *netlink)
{
    walk_t walk = {.pinfo = pinfo, .order = (unsigned)netlink->encoding};

    walk.top = smcr_item_top(tree, tvb, "SMC-R");
    walk.tree = proto_item_add_subtree(walk.top, ett_smcr_told);
    return walk;
}

/* The ends of a socket. They have addresses of IPv4 where both have 4 bytes and zeros. */
static const char *
show_ends(walk_t *walk, tvbuff_t *tvb)
{
    const unsigned rest = SMCR_GID_LENGTH - SMCR_GID_IPV4_LENGTH;
    bool ipv6 = smcr_layout_has_bits(tvb, OWN_AT + SMCR_GID_IPV4_LENGTH, rest) ||
                smcr_layout_has_bits(tvb, OWN_AT + SMCR_GID_LENGTH + SMCR_GID_IPV4_LENGTH, rest);
    char *ends[SMCR_TOLD_ENDS];

    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++) {
        int at = OWN_AT + SMCR_GID_LENGTH * (int)end;
        const uint8_t *bytes = tvb_get_ptr(tvb, at, SMCR_GID_LENGTH);
        uint8_t *kept = walk->told.u.socket.address[end];
        int length = ipv6 ? SMCR_GID_LENGTH : SMCR_GID_IPV4_LENGTH;
        address addr = ADDRESS_INIT(ipv6 ? AT_IPv6 : AT_IPv4, length, bytes);
        char *text = address_to_str(walk->pinfo->pool, &addr);
        smcr_gid_map_ipv4(kept, bytes);
        if (ipv6)
            memcpy(kept, bytes, SMCR_GID_LENGTH);
        proto_tree_add_string(walk->tree, end ? hf_smcr_told_peer_addr : hf_smcr_told_own_addr, tvb,
                              at, SMCR_GID_LENGTH, text);
        ends[end] = wmem_strdup_printf(walk->pinfo->pool, ipv6 ? "[%s]:%u" : "%s:%u", text,
                                       walk->told.u.socket.port[end]);
    }
    return wmem_strdup_printf(walk->pinfo->pool, "%s " UTF8_RIGHTWARDS_ARROW " %s", ends[0],
                              ends[1]);
}

/* What a host answers about a socket. Returns it in short. */
static const char *
show_socket(walk_t *walk, tvbuff_t *tvb)
{
    smcr_told_socket_t *told = &walk->told.u.socket;
    unsigned room = MIN(SOCKET_LENGTH, tvb_reported_length(tvb) - NLMSG_LENGTH);
    tvbuff_t *header = tvb_new_subset_length(tvb, NLMSG_LENGTH, (int)room);

    walk_struct(walk, header, walk->tree, IN_SOCKET);
    if (walk->flawed)
        return "Socket, incomplete";
    const char *ends = show_ends(walk, header);
    walk_attributes(walk, tvb_new_subset_remaining(tvb, NLMSG_LENGTH + SOCKET_LENGTH), walk->tree,
                    IN_DIAG);
    told->has_conn = walk->seen[IN_CONN];
    told->has_lgr = walk->seen[IN_LGRINFO];
    told->has_fallback = walk->seen[IN_FALLBACK];
    char *text = wmem_strdup_printf(walk->pinfo->pool, "Socket %s %s", ends,
                                    val_to_str_const(told->state, smcr_values_told_states, "?"));
    if (told->has_conn)
        return wmem_strdup_printf(walk->pinfo->pool, "%s Token=0x%08x", text, told->token);
    if (told->mode != SMCR_TOLD_FALLBACK || !told->has_fallback)
        return text;
    return wmem_strdup_printf(walk->pinfo->pool, "%s, fallback: %s", text,
                              smcr_value_decline_text(told->reason, SMCR_CLC_OS_LINUX));
}

static int
dissect_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (tvb_captured_length(tvb) <= NLMSG_LENGTH || tvb_get_uint8(tvb, NLMSG_LENGTH) != AF_SMC)
        return 0;
    walk_t walk = begin(tvb, pinfo, tree, data);
    if (!(smcr_layout_number(tvb, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST))
        return finish(&walk, tvb, show_socket(&walk, tvb));
    walk.told.kind = SMCR_TOLD_DONE;
    tvbuff_t *request = tvb_new_subset_remaining(tvb, NLMSG_LENGTH);
    walk_struct(&walk, request, walk.tree, IN_REQUEST);
    if (!walk.flawed)
        show_ends(&walk, request);
    return finish(&walk, tvb, "Request for sockets of AF_SMC");
}

/* Says in short what a message of SMC_GEN_NETLINK tells, and what of it is to be learned. */
static const char *
describe(walk_t *walk, unsigned command, bool request)
{
    const smcr_told_link_t *link = &walk->told.u.link;
    wmem_allocator_t *pool = walk->pinfo->pool;

    walk->told.kind = SMCR_TOLD_LGR;
    if ((walk->seen[IN_LGR] & 0xe) == 0xe) /* ID, role, type */
        return wmem_strdup_printf(pool, "Link group 0x%08x", walk->told.u.lgr.id);
    walk->told.kind = SMCR_TOLD_LINK;
    if ((walk->seen[IN_LINK] & 0x402) == 0x402) /* number, state */
        return wmem_strdup_printf(pool, "Link %u on %s, %s", link->number, link->device,
                                  val_to_str_const(link->state, smcr_values_told_link_states, "?"));
    walk->told.kind = SMCR_TOLD_DONE;
    return wmem_strdup_printf(pool, "%s %s", request ? "Request" : "Answer",
                              val_to_str_const(command, smcr_values_netlink_commands, "unknown"));
}

static int
dissect_generic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    static const uint8_t nests[] = {
        [9] = IN_EIDS, IN_EIDS, IN_EIDS, [13] = IN_SEID, [16] = IN_LIMIT};
    const genl_info_t *generic = data;
    int start = tvb_raw_offset(tvb) - NLMSG_LENGTH; /* of nlmsghdr */

    if (start < 0 || tvb_captured_length(tvb) < GENL_LENGTH)
        return 0;
    tvbuff_t *message = tvb_new_subset_remaining(tvb_get_ds_tvb(tvb), start);
    walk_t walk = begin(tvb, pinfo, tree, generic->nl_data);
    bool request = smcr_layout_number(message, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST;
    proto_tree_add_item(walk.tree, hf_smcr_netlink_command, tvb, 0, 1, ENC_NA);
    proto_tree_add_item(walk.tree, hf_smcr_netlink_version, tvb, 1, 1, ENC_NA);
    walk_attributes(&walk, tvb_new_subset_remaining(tvb, GENL_LENGTH), walk.tree,
                    generic->cmd < array_length(nests) ? nests[generic->cmd] : IN_TOP);
    return finish(&walk, message, describe(&walk, generic->cmd, request));
}

/* Learns from a frame, whose messages have been dissected, which dumps have ended. */
static void
learn_ends(tvbuff_t *tvb, packet_info *pinfo)
{
    unsigned captured = tvb_captured_length(tvb), at = COOKED_LENGTH, length;
    walk_t walk = {.pinfo = pinfo, .order = ENC_BIG_ENDIAN, .told.kind = SMCR_TOLD_DONE};

    if (captured < at + NLMSG_LENGTH || tvb_get_ntohs(tvb, FAMILY_AT) != WS_NETLINK_SOCK_DIAG)
        return;
    if (smcr_layout_number(tvb, at, 4, walk.order) > captured)
        walk.order = ENC_LITTLE_ENDIAN;
    for (; at + NLMSG_LENGTH <= captured; at += (length + 3) & ~3U) {
        length = (unsigned)smcr_layout_number(tvb, at, 4, walk.order);
        if (length < NLMSG_LENGTH || length > captured - at)
            return;
        uint64_t error =
            smcr_layout_number(tvb, at + NLMSG_LENGTH, length < 20 ? 0 : 4, walk.order);
        if (smcr_layout_number(tvb, at + NLMSG_TYPE_AT, 2, walk.order) == WS_NLMSG_DONE && !error)
            learn(&walk, tvb, at);
    }
}

/* ---- hooks ---- */

static dissector_handle_t original_frame, original_socket, ours;

static int
wrap_frame(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_frame, tvb, pinfo, tree, data);

    if (used && proto_is_protocol_enabled(find_protocol_by_id(proto_smcr)))
        learn_ends(tvb, pinfo);
    return used;
}

static int
wrap_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_socket, tvb, pinfo, tree, data);

    if (used && ((struct packet_netlink_data *)data)->type == SOCK_DIAG_BY_FAMILY)
        call_dissector_only(ours, tvb, pinfo, tree, data);
    return used;
}

void
smcr_netlink_register(void)
{
    observer = proto_register_protocol_in_name_only(
        "Netlink (observed by SMC-R)", "Netlink/SMC-R", "smcr.netlink",
        proto_get_id_by_filter_name("netlink"), FT_BYTES);
    proto_set_cant_toggle(observer);
    seen = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), wmem_str_hash, g_str_equal);
}

static dissector_handle_t
wrap(const char *table, uint32_t key, dissector_t wrapper)
{
    dissector_handle_t original = dissector_get_uint_handle(find_dissector_table(table), key);

    dissector_add_uint(table, key, create_dissector_handle(wrapper, observer));
    return original;
}

void
smcr_netlink_handoff(void)
{
    ours = create_dissector_handle(dissect_socket, proto_smcr);
    original_frame = wrap("wtap_encap", WTAP_ENCAP_NETLINK, wrap_frame);
    original_socket = wrap("netlink.protocol", WS_NETLINK_SOCK_DIAG, wrap_socket);
    dissector_add_string("genl.family", "SMC_GEN_NETLINK",
                         create_dissector_handle(dissect_generic, proto_smcr));
}
