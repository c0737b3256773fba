/* netlink.c
 * One walker reads all messages by the rows of told.def: attributes have a type and a length,
 * members of structs a place and the width of their field. What fits entirely is learned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "netlink.h"

#include <stddef.h>

#include <wsutil/inet_addr.h>
#include <wsutil/utf8_entities.h>

#include "fields.h"
#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"
#include "values.h"

/* Lengths and places of the cooked header, nlmsghdr, genlmsghdr, nlattr, smc_diag_msg; codes. */
enum {
    COOKED_LENGTH = 16, FAMILY_AT = 14, NLMSG_LENGTH = 16, NLMSG_TYPE_AT = 4, FLAGS_AT = 6,
    SEQUENCE_AT = 8, PORT_AT = 12, GENL_LENGTH = 4, NLA_LENGTH = 4, NLA_TYPE = 0x3fff,
    REQUEST_LENGTH = 4, SOCKET_LENGTH = 64, OWN_AT = 8, PEER_AT = 24, GID_TEXT = 40,
    SOCK_DIAG_BY_FAMILY = 20, AF_SMC = 43,
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
} row_t;

#define NOT 0
#define IN(nest_) IN_##nest_
#define KEPT(of_) (offsetof(smcr_told_t, of_) | sizeof(((smcr_told_t *)NULL)->of_) << 16)
#define TOLD(nest_, at_, kind_, keep, id, ...) SAME(nest_, at_, kind_, keep, told_##id)
#define SAME(nest_, at_, kind_, keep, id) {&hf_smcr_##id, IN_##nest_, at_, kind_, keep},
static const row_t rows[] = {
#include "told.def"
};
static const row_t unknown = {.hf = &hf_smcr_netlink_unknown};

/* A message on its way. */
typedef struct {
    packet_info *pinfo;
    proto_item *top;
    unsigned order;       /* of the host: ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN */
    smcr_told_t told;     /* as far as the message has it */
    uint32_t seen[NESTS]; /* a bit for each attribute that has a value, 1 for a struct */
    bool flawed;          /* it does not fit, or the capture lacks some of it */
} walk_t;

/* ---- the walker; each nest and struct has a buffer of its own ---- */

static uint32_t
read_number(tvbuff_t *tvb, unsigned at, unsigned length, unsigned order)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < length; i++)
        value = value << 8 |
                tvb_get_uint8(tvb, (int)(order == ENC_BIG_ENDIAN ? at + i : at + length - 1 - i));
    return value;
}

/* Shows `length` bytes as the row has it, and keeps what it keeps. GIDs are texts. */
static void
show_row(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, const row_t *row, unsigned at,
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

static const row_t *
find_row(unsigned nest, unsigned type)
{
    for (unsigned i = 0; i < array_length(rows); i++)
        if (rows[i].nest == nest && rows[i].at == type)
            return &rows[i];
    return NULL;
}

/* An attribute without a value pads. Of 64 bits there may be 32. */
static void
walk_attributes(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest)
{
    unsigned captured = tvb_captured_length(tvb), length;

    for (unsigned at = 0; at < tvb_reported_length(tvb); at += (length + 3) & ~3U) {
        bool there = at + NLA_LENGTH <= captured;
        unsigned type = there ? read_number(tvb, at + 2, 2, walk->order) & NLA_TYPE : 0;
        length = there ? read_number(tvb, at, 2, walk->order) : NLA_LENGTH;
        if (length < NLA_LENGTH || at + length > captured) {
            show_row(walk, tvb, tree, &unknown, at, length < NLA_LENGTH ? UINT16_MAX : length);
            walk->flawed = true;
            return;
        }
        const row_t *row = find_row(nest, type);
        unsigned value = length - NLA_LENGTH;
        unsigned width = row && row->kind < ASCII ? MAX(1, smcr_layout_width(*row->hf)) : value;
        tvbuff_t *part = tvb_new_subset_length(tvb, (int)(at + NLA_LENGTH), (int)value);
        if (!value)
            continue;
        if (!row || value > width) {
            show_row(walk, tvb, tree, &unknown, at, length);
            continue;
        }
        walk->seen[nest] |= UINT32_C(1) << type;
        if (row->kind != BELOW) {
            show_row(walk, part, tree, row, 0, value == 4 ? 4 : width);
            continue;
        }
        proto_item *item = proto_tree_add_item(tree, *row->hf, part, 0, -1, ENC_NA);
        proto_tree *below = proto_item_add_subtree(item, ett_smcr_told);
        if (row->more < IN_REQUEST)
            walk_attributes(walk, part, below, row->more);
        else
            walk_struct(walk, part, below, row->more);
    }
}

/* ---- messages ---- */

static bool has_cut; /* the capture has cut a message: nobody knows what else it tells */

/* Messages of the frame that is dissected: the last one's place, how many of each kind. */
static struct {
    uint32_t frame;
    int at;
    unsigned count[SMCR_TOLD_DONE + 1], all;
} shown;

static void
count_message(uint32_t frame, tvbuff_t *tvb, smcr_told_kind_t kind)
{
    if (shown.frame != frame || tvb_raw_offset(tvb) <= shown.at)
        memset(&shown, 0, sizeof shown);
    shown.frame = frame;
    shown.at = tvb_raw_offset(tvb);
    shown.count[kind]++;
    shown.all++;
}

/* Learns what a message tells, whose nlmsghdr is at `at`. */
static void
learn(walk_t *walk, tvbuff_t *tvb, unsigned at)
{
    smcr_told_t *told = &walk->told;

    told->sequence = read_number(tvb, at + SEQUENCE_AT, 4, walk->order);
    told->port = read_number(tvb, at + PORT_AT, 4, walk->order);
    if (told->kind == SMCR_TOLD_SOCKET) {
        told->u.socket.has_conn = walk->seen[IN_CONN];
        told->u.socket.has_lgr = walk->seen[IN_LGRINFO];
        told->u.socket.has_fallback = walk->seen[IN_FALLBACK];
    }
    if (!walk->flawed && !walk->pinfo->fd->visited)
        smcr_packet_learn_told(walk->pinfo, told, shown.all);
}

/* Names the message in its line, and in the Info column; there many are counted. */
static void
finish(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, const char *text)
{
    static const char *const names[] = {"sockets of AF_SMC", "link groups", "links", "others"};
    wmem_strbuf_t *all = wmem_strbuf_new(walk->pinfo->pool, NULL);
    smcr_record_t record;

    count_message(walk->pinfo->num, tvb, walk->told.kind);
    for (unsigned i = 0; i < array_length(names); i++)
        if (shown.count[i])
            wmem_strbuf_append_printf(all, "%s%s: %u", wmem_strbuf_get_len(all) ? ", " : "",
                                      names[i], shown.count[i]);
    col_set_str(walk->pinfo->cinfo, COL_PROTOCOL, "SMC-R");
    col_add_str(walk->pinfo->cinfo, COL_INFO, shown.all > 1 ? wmem_strbuf_get_str(all) : text);
    proto_item_append_text(walk->top, ", %s", text);
    smcr_item_hide(proto_tree_add_string(tree, hf_smcr_told, tvb, 0, 0, text));
    if (walk->told.kind != SMCR_TOLD_DONE)
        learn(walk, tvb, 0);
    if (smcr_packet_learned_told(walk->pinfo, shown.all, &record))
        smcr_show_events(walk->pinfo, walk->top, &record);
}

static const char *
text_of(uint32_t code, const value_string *texts)
{
    const char *text = try_val_to_str(code, texts);

    return text ? text : "unknown";
}

/* The address of an end of a socket. It is one of IPv4 where both ends have 4 bytes and zeros. */
static const char *
show_address(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, bool peer)
{
    unsigned rest = SMCR_GID_LENGTH - SMCR_GID_IPV4_LENGTH, at = peer ? PEER_AT : OWN_AT;
    bool ipv6 = smcr_layout_has_bits(tvb, OWN_AT + SMCR_GID_IPV4_LENGTH, rest) ||
                smcr_layout_has_bits(tvb, PEER_AT + SMCR_GID_IPV4_LENGTH, rest);
    const uint8_t *bytes = tvb_get_ptr(tvb, (int)at, SMCR_GID_LENGTH);
    uint8_t *kept = walk->told.u.socket.address[peer];
    address addr;

    smcr_gid_map_ipv4(kept, bytes);
    if (ipv6)
        memcpy(kept, bytes, SMCR_GID_LENGTH);
    set_address(&addr, ipv6 ? AT_IPv6 : AT_IPv4, ipv6 ? SMCR_GID_LENGTH : SMCR_GID_IPV4_LENGTH,
                bytes);
    const char *text = address_to_str(walk->pinfo->pool, &addr);
    proto_tree_add_string(tree, peer ? hf_smcr_told_peer_addr : hf_smcr_told_own_addr, tvb, (int)at,
                          SMCR_GID_LENGTH, text);
    return ipv6 ? wmem_strdup_printf(walk->pinfo->pool, "[%s]", text) : text;
}

/* What a host answers about a socket. Returns it in short. */
static const char *
show_socket(walk_t *walk, tvbuff_t *tvb, proto_tree *tree)
{
    const smcr_told_socket_t *told = &walk->told.u.socket;
    unsigned room = MIN(SOCKET_LENGTH, tvb_reported_length(tvb) - NLMSG_LENGTH);
    tvbuff_t *header = tvb_new_subset_length(tvb, NLMSG_LENGTH, (int)room);

    walk_struct(walk, header, tree, IN_SOCKET);
    if (walk->flawed)
        return "Socket, incomplete";
    const char *own = show_address(walk, header, tree, false);
    const char *peer = show_address(walk, header, tree, true);
    walk_attributes(walk, tvb_new_subset_remaining(tvb, NLMSG_LENGTH + SOCKET_LENGTH), tree,
                    IN_DIAG);
    char *text = wmem_strdup_printf(
        walk->pinfo->pool, "Socket %s:%u " UTF8_RIGHTWARDS_ARROW " %s:%u %s", own, told->port[0],
        peer, told->port[1], text_of(told->state, smcr_values_told_states));
    if (walk->seen[IN_CONN])
        return wmem_strdup_printf(walk->pinfo->pool, "%s Token=0x%08x", text, told->token);
    if (told->mode == SMCR_TOLD_FALLBACK && walk->seen[IN_FALLBACK])
        return wmem_strdup_printf(walk->pinfo->pool, "%s, fallback: %s", text,
                                  text_of(told->reason, smcr_values_declines));
    return text;
}

int
smcr_netlink_dissect_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct packet_netlink_data *netlink = data;
    walk_t walk = {.pinfo = pinfo, .order = (unsigned)netlink->encoding};
    const char *text = "Request for sockets of AF_SMC";

    if (netlink->type != SOCK_DIAG_BY_FAMILY || tvb_captured_length(tvb) <= NLMSG_LENGTH ||
        tvb_get_uint8(tvb, NLMSG_LENGTH) != AF_SMC)
        return 0;
    walk.top = smcr_item_top(tree, tvb, "SMC-R");
    tree = proto_item_add_subtree(walk.top, ett_smcr_told);
    if (read_number(tvb, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST) {
        walk.told.kind = SMCR_TOLD_DONE;
        walk_struct(&walk, tvb_new_subset_length(tvb, NLMSG_LENGTH, REQUEST_LENGTH), tree,
                    IN_REQUEST);
    } else {
        text = show_socket(&walk, tvb, tree);
    }
    has_cut |= pinfo->fd->cap_len < pinfo->fd->pkt_len;
    finish(&walk, tvb, tree, text);
    return (int)tvb_captured_length(tvb);
}

/* Says in short what a message of SMC_GEN_NETLINK tells, and what of it is to be learned. */
static const char *
describe(walk_t *walk, unsigned command, bool request)
{
    const smcr_told_lgr_t *lgr = &walk->told.u.lgr;
    const smcr_told_link_t *link = &walk->told.u.link;

    walk->told.kind = SMCR_TOLD_DONE;
    if ((walk->seen[IN_LGR] & 0xe) == 0xe) { /* ID, role, type */
        walk->told.kind = SMCR_TOLD_LGR;
        return wmem_strdup_printf(walk->pinfo->pool, "Link group 0x%08x %s %s", lgr->id,
                                  lgr->is_server ? "server" : "client",
                                  text_of(lgr->type, smcr_values_told_lgr_types));
    }
    if ((walk->seen[IN_LINK] & 0x402) == 0x402) { /* number, state */
        walk->told.kind = SMCR_TOLD_LINK;
        return wmem_strdup_printf(walk->pinfo->pool, "Link %u %s %s", link->number, link->device,
                                  text_of(link->state, smcr_values_told_link_states));
    }
    return wmem_strdup_printf(walk->pinfo->pool, "%s %s", request ? "Request" : "Answer",
                              text_of(command, smcr_values_netlink_commands));
}

int
smcr_netlink_dissect_generic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    static const uint8_t nests[] = {
        [9] = IN_EIDS, IN_EIDS, IN_EIDS, [13] = IN_SEID, [16] = IN_LIMIT};
    const genl_info_t *generic = data;
    walk_t walk = {.pinfo = pinfo, .order = (unsigned)generic->nl_data->encoding};
    int start = tvb_raw_offset(tvb) - NLMSG_LENGTH; /* of nlmsghdr */

    if (start < 0 || tvb_captured_length(tvb) < GENL_LENGTH)
        return 0;
    tvbuff_t *frame = tvb_new_subset_remaining(tvb_get_ds_tvb(tvb), start);
    bool request = read_number(frame, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST;
    unsigned nest = generic->cmd < array_length(nests) ? nests[generic->cmd] : IN_TOP;
    walk.top = smcr_item_top(tree, tvb, "SMC-R");
    tree = proto_item_add_subtree(walk.top, ett_smcr_told);
    proto_tree_add_item(tree, hf_smcr_netlink_command, tvb, 0, 1, ENC_NA);
    proto_tree_add_item(tree, hf_smcr_netlink_version, tvb, 1, 1, ENC_NA);
    walk_attributes(&walk, tvb_new_subset_remaining(tvb, GENL_LENGTH), tree, nest);
    const char *text = describe(&walk, generic->cmd, request);
    finish(&walk, frame, tree, text);
    return (int)tvb_captured_length(tvb);
}

void
smcr_netlink_learn_ends(tvbuff_t *tvb, packet_info *pinfo)
{
    unsigned captured = tvb_captured_length(tvb), length;
    walk_t walk = {.pinfo = pinfo, .order = ENC_BIG_ENDIAN, .flawed = has_cut};

    if (captured < COOKED_LENGTH + NLMSG_LENGTH ||
        tvb_get_ntohs(tvb, FAMILY_AT) != WS_NETLINK_SOCK_DIAG)
        return;
    if (read_number(tvb, COOKED_LENGTH, 4, walk.order) > captured)
        walk.order = ENC_LITTLE_ENDIAN;
    walk.told.kind = SMCR_TOLD_DONE;
    for (unsigned at = COOKED_LENGTH; at + NLMSG_LENGTH <= captured; at += (length + 3) & ~3U) {
        length = read_number(tvb, at, 4, walk.order);
        if (length < NLMSG_LENGTH || length > captured - at)
            return;
        if (read_number(tvb, at + NLMSG_TYPE_AT, 2, walk.order) == WS_NLMSG_DONE)
            learn(&walk, tvb, at);
    }
}

static void
start_file(void)
{
    has_cut = false;
}

void
smcr_netlink_handoff(void)
{
    register_init_routine(start_file);
}
