/* Dissects reports of Linux about SMC over netlink (<linux/smc_diag.h>, <linux/smc.h>): the sockets
 * that `ss` and smcss list over SOCK_DIAG, and the link groups, links and devices that smcr lists
 * over the generic netlink families SMC_GEN_NETLINK and SMC_PNETID.
 *
 * A message has attributes. An attribute may be a nest: it has attributes or a struct within. One
 * walker reads all messages by the rows of told.def. An attribute has a type and a length
 * (<linux/netlink.h>); a member of a struct has an offset, and the width of its field. The state
 * learns from a message that is complete and fits the rows.
 *
 * Wireshark's dissectors for netlink and for SOCK_DIAG run as they would without this plugin. After
 * them, the wrappers in this file add the items of AF_SMC.
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

/* Offsets and lengths in netlink messages, bytes; and codes of the messages. */
enum {
    FAMILY_AT = 14, COOKED_LENGTH = 16,                     /* cooked header of the link layer:
                                                               offset of the netlink family, and
                                                               length of the header */
    NLMSG_TYPE_AT = 4, FLAGS_AT = 6, NLMSG_LENGTH = 16,     /* struct nlmsghdr */
    DUMP_AT = 8,                                            /* offset of sequence number and port ID
                                                               in the nlmsghdr */
    ERROR_LENGTH = 4,                                       /* length of the error code after the
                                                               nlmsghdr of a message DONE */
    GENL_LENGTH = 4,                                        /* struct genlmsghdr */
    NLA_LENGTH = 4, NLA_TYPE_AT = 2, NLA_TYPE = 0x3fff,     /* struct nlattr: length, offset of the
                                                               type, mask of the type without its
                                                               flags */
    OWN_AT = 8, SOCKET_LENGTH = 64,                         /* struct smc_diag_msg */
    GID_TEXT = 40,                                          /* maximum length of a GID as text */
    AF_SMC = 43, SOCK_DIAG_BY_FAMILY = 20,
};

/* Types of attributes from which describe() finds out the kind of a message (<linux/smc.h>,
 * SMC_NLA_...). */
enum { LGR_ID = 1, LGR_ROLE = 2, LGR_TYPE = 3, LINK_ID = 1, LINK_STATE = 10 };

/* The nests of told.def. Nests that are structs come last, from IN_REQUEST on. */
enum {
    IN_TOP, IN_EIDS, IN_SEID, IN_LIMIT, IN_DUMP, IN_PNET, IN_SYS, IN_LGR, IN_V2, IN_R_V2, IN_LINK,
    IN_LGR_D, IN_DEV, IN_PORT, IN_STATS, IN_TECH, IN_SIZE, IN_USE, IN_FBACK, IN_DIAG, IN_REQUEST,
    IN_SOCKET, IN_CONN, IN_LGRINFO, IN_DMB, IN_FALLBACK, NESTS
};

/* A row of told.def, whose head describes the columns. */
typedef struct {
    const int *hf; /* field for the value */
    uint8_t nest;  /* nest of the attribute or member: IN_... */
    uint8_t at;    /* type of the attribute, or offset of the member in bytes */
    enum { HOST, WIRE, ASCII, BELOW } kind; /* column `kind` of told.def */
    unsigned more; /* For a nest: number of the nest within the attribute, IN_... For any other row:
                      place of the value in smcr_told_t, as offset | size << 16; size 0: the value
                      is not stored */
} attribute_t;

#define NOT 0
#define IN(nest_) IN_##nest_
#define KEPT(of_) (offsetof(smcr_told_t, u.of_) | sizeof(((smcr_told_t *)NULL)->u.of_) << 16)
#define TOLD(nest_, at_, kind_, keep, id, ...) SAME(nest_, at_, kind_, keep, told_##id)
#define SAME(nest_, at_, kind_, keep, id) {&hf_smcr_##id, IN_##nest_, at_, kind_, keep},
static const attribute_t rows[] = {
#include "told.def"
};
/* The row of attributes that no row of told.def has: shown as bytes. */
static const attribute_t unknown = {.hf = &hf_smcr_netlink_unknown};

/* A message while it is dissected. */
typedef struct {
    packet_info *pinfo; /* the frame */
    proto_item *top;      /* item of the message, at which expert items are raised */
    proto_tree *tree;     /* subtree of the item `top` */
    unsigned order;       /* byte order of the host: ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN */
    smcr_told_t told;     /* values of the message; zero: the message has no such value */
    uint32_t seen[NESTS]; /* by nest: a bit for each type of attribute that the message has; for a
                             struct, 1 if the message has the struct */
    bool flawed;          /* a length in the message is wrong, or the message is truncated */
} walk_t;

/* Whether the nest had attributes of all these types. `types`: a set of bits. */
static bool
has_attributes(const walk_t *walk, unsigned nest, uint32_t types)
{
    return (walk->seen[nest] & types) == types;
}

/* A nest while it is walked. */
typedef struct {
    tvbuff_t *tvb; /* bytes of the nest alone */
    proto_tree *tree; /* subtree of the nest */
    unsigned nest; /* number of the nest: IN_... */
} place_t;

/* ---- the walker ---- */

/* Returns the size in bytes that the value of a row has in smcr_told_t; 0: the value is not
 * stored. */
static unsigned
kept_size(const attribute_t *row)
{
    return row->more >> 16;
}

/* Stores a text of `length` bytes at offset `at`. If the row is a GID, converts the text to 16
 * bytes. */
static void
keep_text(walk_t *walk, const place_t *place, const attribute_t *row, unsigned at,
          unsigned length)
{
    uint8_t *kept = (uint8_t *)&walk->told + (row->more & UINT16_MAX);
    const char *text = smcr_item_peer_text(
        walk->pinfo->pool, tvb_get_ptr(place->tvb, (int)at, (int)length), length);

    if (kept_size(row) == SMCR_GID_LENGTH)
        ws_inet_pton6(text, (ws_in6_addr *)(void *)kept);
    else
        g_strlcpy((char *)kept, text, kept_size(row));
}

/* Returns the row in the form of the layout walker (message/layout.h). */
static smcr_row_t
layout_row(const attribute_t *row, unsigned length)
{
    unsigned size = kept_size(row);
    smcr_row_t one = {.hf = row->hf, .length = (uint16_t)length, .peer_order = row->kind == HOST,
                      .kind = SMCR_ROW_SHOW, .keep = SMCR_KEEP_NOT,
                      .member = row->more & UINT16_MAX, .member_size = (uint16_t)size};

    if (row->hf == &hf_smcr_told_token)
        one.either_of_hf = &hf_smcr_token;
    if (row->kind == ASCII)
        one.kind = SMCR_ROW_TEXT;
    else if (size)
        one.keep = SMCR_KEEP_INTEGER;
    return one;
}

/* Shows `length` bytes at offset `at` as their row describes, and stores the value if the row has a
 * place for it. The role in the link group is a code in the message, and is stored as a bool: true
 * for the server. If the bytes are not captured whole, the walk is marked as flawed. */
static void
show_row(walk_t *walk, const place_t *place, const attribute_t *row, unsigned at, unsigned length)
{
    smcr_layout_walk_t step = {.pinfo = walk->pinfo, .tvb = place->tvb, .tree = place->tree,
                               .top = walk->top, .peer_order = walk->order};
    uint8_t *kept = (uint8_t *)&walk->told + (row->more & UINT16_MAX);
    smcr_row_t one = layout_row(row, length);
    smcr_layout_t layout = {.rows = &one, .count = 1, .length = length};

    if (!smcr_layout_walk(&layout, &step, at, &walk->told)) {
        walk->flawed = true;
        return;
    }
    if (!kept_size(row))
        return;
    if (row->hf == &hf_smcr_told_role)
        *kept = *kept == 1;
    else if (row->kind == ASCII)
        keep_text(walk, place, row, at, length);
}

/* Returns the number of bytes of a member of a struct. */
static unsigned
member_width(const attribute_t *row)
{
    if (row->kind != ASCII)
        return smcr_layout_width(*row->hf);
    return kept_size(row) == SMCR_GID_LENGTH ? GID_TEXT : kept_size(row);
}

/* Shows a struct, and further bytes after its last known member: a newer kernel may have more
 * members. `nest`: the attribute whose value is the struct. */
static void
walk_struct(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest)
{
    place_t place = {.tvb = tvb, .tree = tree, .nest = nest};
    unsigned known = 0;

    walk->seen[nest] = 1;
    for (unsigned i = 0; i < array_length(rows) && !walk->flawed; i++) {
        if (rows[i].nest != nest)
            continue;
        unsigned width = member_width(&rows[i]);
        known = MAX(known, rows[i].at + width);
        show_row(walk, &place, &rows[i], rows[i].at, width);
    }
    if (!walk->flawed && known < tvb_captured_length(tvb))
        proto_tree_add_item(tree, hf_smcr_extra_bytes, tvb, (int)known, -1, ENC_NA);
}

static void walk_attributes(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest);

/* Returns the row of an attribute; `unknown` if the nest has no row of this type. */
static const attribute_t *
find_row(unsigned nest, unsigned type)
{
    for (unsigned i = 0; i < array_length(rows); i++)
        if (rows[i].nest == nest && rows[i].at == type)
            return &rows[i];
    return &unknown;
}

/* Shows an attribute that is a nest: `value` has attributes or a struct. */
static void
show_nest(walk_t *walk, tvbuff_t *value, proto_tree *tree, const attribute_t *row)
{
    proto_item *item = proto_tree_add_item(tree, *row->hf, value, 0, -1, ENC_NA);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr_told);

    if (row->more < IN_REQUEST)
        walk_attributes(walk, value, below, row->more);
    else
        walk_struct(walk, value, below, row->more);
}

/* Shows the attribute at offset `at`. `length`: length of the attribute with its header, bytes. An
 * attribute without a value is padding, and is not shown. The whole attribute is shown as bytes if
 * its type has no row, or its value is longer than the row says. If the row is for a number of 64
 * bits, the value may also have 32 bits. */
static void
show_attribute(walk_t *walk, const place_t *place, unsigned at, unsigned length)
{
    unsigned type =
        (unsigned)smcr_layout_number(place->tvb, at + NLA_TYPE_AT, 2, walk->order) & NLA_TYPE;
    const attribute_t *row = find_row(place->nest, type);

    if (length == NLA_LENGTH)
        return;
    tvbuff_t *value = tvb_new_subset_length(place->tvb, (int)(at + NLA_LENGTH),
                                            (int)(length - NLA_LENGTH));
    unsigned value_length = length - NLA_LENGTH;
    unsigned width = row->kind < ASCII ? MAX(1, smcr_layout_width(*row->hf)) : value_length;
    if (row == &unknown || value_length > width) {
        show_row(walk, place, &unknown, at, length);
        return;
    }
    walk->seen[place->nest] |= UINT32_C(1) << type;
    place_t within = {.tvb = value, .tree = place->tree, .nest = place->nest};
    if (row->kind == BELOW)
        show_nest(walk, value, place->tree, row);
    else
        show_row(walk, &within, row, 0, value_length == 4 ? 4 : width);
}

/* Shows all attributes of a nest. Each attribute begins at a multiple of 4 bytes. If the length of
 * an attribute is impossible, or the attribute is truncated, the walk ends. */
static void
walk_attributes(walk_t *walk, tvbuff_t *tvb, proto_tree *tree, unsigned nest)
{
    place_t place = {.tvb = tvb, .tree = tree, .nest = nest};
    unsigned captured = tvb_captured_length(tvb), length = NLA_LENGTH;

    for (unsigned at = 0; at < tvb_reported_length(tvb); at += (length + 3) & ~3U) {
        if (at + NLA_LENGTH <= captured)
            length = (unsigned)smcr_layout_number(tvb, at, 2, walk->order);
        if (length < NLA_LENGTH || at + MAX(length, NLA_LENGTH) > captured) {
            show_row(walk, &place, &unknown, at, length < NLA_LENGTH ? UINT16_MAX : length);
            walk->flawed = true;
            return;
        }
        show_attribute(walk, &place, at, length);
    }
}

/* Internal protocol (PINO) to which the wrappers belong, so that frame.protocols does not
 * change. */
static int observer;

/* ---- messages ---- */

/* Result of compare_frame(). COPY: an earlier frame of the capture has the same bytes as this
 * frame. FIRST_TIME: none has. */
typedef enum {
    NOT_COMPARED, /* not compared yet: nothing was learned from the frame so far */
    FIRST_TIME,
    COPY
} novelty_t;

/* State of the current frame. Lives as long as the packet. */
typedef struct {
    uint32_t count;        /* number of messages so far */
    smcr_told_kind_t kind; /* kind of all messages of the frame; SMCR_TOLD_DONE: the messages have
                              several kinds, or another kind */
    novelty_t novelty;     /* result of compare_frame() for this frame */
} shown_t;

/* Returns the state of the current frame. The first call for a frame makes the state. */
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

/* Set of the checksums of all frames that compare_frame() has got so far, as hexadecimal text. */
static wmem_map_t *seen;

/* Compares the frame with all earlier frames of the file, by checksums. If an earlier frame has the
 * same bytes, this frame is a duplicate, or the host reports an unchanged state once more.
 * learn_message() ignores such a frame but for the end of a dump, since the host may have made its
 * report before frames that come before it in the file. Called once for a frame, in the first
 * pass. */
static novelty_t
compare_frame(packet_info *pinfo, tvbuff_t *tvb)
{
    const uint32_t size = pinfo->fd->cap_len;
    const uint8_t *bytes = tvb_get_ptr(tvb_get_ds_tvb(tvb), 0, (int)size);
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_MD5, bytes, size);

    return wmem_map_insert(seen, wmem_strdup(wmem_file_scope(), sum), seen) ? COPY : FIRST_TIME;
}

/* Returns a number for the dump to which a message belongs: sequence number and port ID of its
 * nlmsghdr at `at`, combined with the interface, which stands for the host. */
static uint64_t
dump_of(const walk_t *walk, tvbuff_t *tvb, unsigned at)
{
    uint32_t interface = walk->pinfo->rec->rec_header.packet_header.interface_id;

    return smcr_layout_number(tvb, at + DUMP_AT, 8, walk->order) ^ (uint64_t)interface << 48;
}

/* First pass: lets the state learn from a message, whose nlmsghdr is at offset `at`. If the message
 * is flawed or truncated, lets the state learn that its dump is not complete. From a frame that
 * compare_frame() calls a COPY, only the end of a dump is learned. */
static void
learn_message(walk_t *walk, tvbuff_t *tvb, unsigned at)
{
    smcr_told_t cut = {.kind = SMCR_TOLD_CUT};
    const frame_data *frame = walk->pinfo->fd;
    shown_t *shown = shown_of(walk->pinfo);

    if (frame->visited)
        return;
    if (shown->novelty == NOT_COMPARED)
        shown->novelty = compare_frame(walk->pinfo, tvb);
    if (shown->novelty == COPY && walk->told.kind != SMCR_TOLD_DONE)
        return;
    cut.dump = walk->told.dump = dump_of(walk, tvb, at);
    if (walk->flawed || frame->cap_len < frame->pkt_len)
        smcr_packet_learn_netlink(walk->pinfo, &cut, shown->count);
    if (!walk->flawed)
        smcr_packet_learn_netlink(walk->pinfo, &walk->told, shown->count);
}

/* Sets the columns to the summary `text` of the message. If the frame has several messages so far,
 * the Info column has their number instead. */
static void
show_in_columns(packet_info *pinfo, const shown_t *shown, const char *text)
{
    static const char *const names[] = {"sockets", "link groups", "links", "messages"};
    const char *dump = shown->kind == SMCR_TOLD_SOCKET ? "AF_SMC socket dump, " : "";

    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
    if (shown->count > 1)
        text = wmem_strdup_printf(pinfo->pool, "%s%u %s", dump, shown->count,
                                  names[shown->kind]);
    col_add_str(pinfo->cinfo, COL_INFO, text);
}

/* Ends the dissection of a message: writes its summary `text`, lets the state learn from a message
 * that reports something (not SMCR_TOLD_DONE), and shows what the state knows about its contents.
 * `tvb` begins with its nlmsghdr. Returns the bytes used. */
static int
finish_message(walk_t *walk, tvbuff_t *tvb, const char *text)
{
    packet_info *pinfo = walk->pinfo;
    shown_t *shown = shown_of(pinfo);
    smcr_record_t record;

    if (shown->count++ == 0)
        shown->kind = walk->told.kind;
    else if (shown->kind != walk->told.kind)
        shown->kind = SMCR_TOLD_DONE;
    show_in_columns(pinfo, shown, text);
    proto_item_append_text(walk->top, ", %s", text);
    smcr_item_hide(proto_tree_add_string(walk->tree, hf_smcr_told, tvb, 0, 0, text));
    if (walk->told.kind != SMCR_TOLD_DONE)
        learn_message(walk, tvb, 0);
    if (smcr_packet_find_record(pinfo, SMCR_PACKET_TOLD, shown->count, &record))
        smcr_show_events(pinfo, walk->top, &record);
    if (walk->told.kind == SMCR_TOLD_SOCKET)
        smcr_show_socket(tvb, pinfo, walk->tree,
                         smcr_socket_of(smcr_capture_state(), &walk->told.u.socket));
    return (int)tvb_captured_length(tvb);
}

/* Begins a message: adds its item to the tree, and takes the byte order of the host from
 * `netlink`. */
static walk_t
begin_message(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
      const struct packet_netlink_data *netlink)
{
    walk_t walk = {.pinfo = pinfo, .order = (unsigned)netlink->encoding};

    walk.top = smcr_item_top(tree, tvb, "SMC-R");
    walk.tree = proto_item_add_subtree(walk.top, ett_smcr_told);
    return walk;
}

/* Whether the addresses of a socket are IPv6. An IPv4 address has 4 bytes, then zeros. */
static bool
has_ipv6_addresses(tvbuff_t *tvb)
{
    const unsigned rest = SMCR_GID_LENGTH - SMCR_GID_IPV4_LENGTH;

    return smcr_layout_has_bits(tvb, OWN_AT + SMCR_GID_IPV4_LENGTH, rest) ||
           smcr_layout_has_bits(tvb, OWN_AT + SMCR_GID_LENGTH + SMCR_GID_IPV4_LENGTH, rest);
}

/* Shows the address of an end (0: own, 1: of the peer), and stores it in walk->told. Returns
 * address and port as text. */
static const char *
show_end(walk_t *walk, tvbuff_t *tvb, unsigned end, bool ipv6)
{
    wmem_allocator_t *pool = walk->pinfo->pool;
    int hf = end ? hf_smcr_told_peer_addr : hf_smcr_told_own_addr;
    int at = OWN_AT + SMCR_GID_LENGTH * (int)end;
    const uint8_t *bytes = tvb_get_ptr(tvb, at, SMCR_GID_LENGTH);
    uint8_t *kept = walk->told.u.socket.address[end];
    address addr = ADDRESS_INIT(AT_IPv4, SMCR_GID_IPV4_LENGTH, bytes);

    if (ipv6) {
        set_address(&addr, AT_IPv6, SMCR_GID_LENGTH, bytes);
        memcpy(kept, bytes, SMCR_GID_LENGTH);
    } else {
        smcr_gid_map_ipv4(kept, bytes);
    }
    char *text = address_to_str(pool, &addr);
    proto_tree_add_string(walk->tree, hf, tvb, at, SMCR_GID_LENGTH, text);
    return wmem_strdup_printf(pool, ipv6 ? "[%s]:%u" : "%s:%u", text,
                              walk->told.u.socket.port[end]);
}

/* Shows both ends of a socket, and stores their addresses in walk->told. Returns "own → peer". */
static const char *
show_ends(walk_t *walk, tvbuff_t *tvb)
{
    bool ipv6 = has_ipv6_addresses(tvb);
    const char *own = show_end(walk, tvb, 0, ipv6);
    const char *peer = show_end(walk, tvb, 1, ipv6);

    return wmem_strdup_printf(walk->pinfo->pool, "%s " UTF8_RIGHTWARDS_ARROW " %s", own, peer);
}

/* Returns the summary of a socket: ends, state, and token or reason of the fallback. */
static const char *
describe_socket(walk_t *walk, const char *ends)
{
    const smcr_told_socket_t *told = &walk->told.u.socket;
    wmem_allocator_t *pool = walk->pinfo->pool;
    const char *state = val_to_str_const(told->state, smcr_values_told_states, "?");
    char *text = wmem_strdup_printf(pool, "Socket %s %s", ends, state);

    if (told->has_conn)
        return wmem_strdup_printf(pool, "%s Token=0x%08x", text, told->token);
    if (told->mode != SMCR_TOLD_FALLBACK || !told->has_fallback)
        return text;
    return wmem_strdup_printf(pool, "%s, fallback: %s", text,
                              smcr_value_decline_text(told->reason, SMCR_CLC_OS_LINUX));
}

/* Shows a socket: struct smc_diag_msg after the nlmsghdr, then attributes. Returns the summary. */
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
    return describe_socket(walk, ends);
}

/* Dissects a message of SOCK_DIAG, which begins with its nlmsghdr. `data`: struct
 * packet_netlink_data. Returns 0 if the message is not of AF_SMC, or is truncated before its
 * family. */
static int
dissect_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (tvb_captured_length(tvb) <= NLMSG_LENGTH || tvb_get_uint8(tvb, NLMSG_LENGTH) != AF_SMC)
        return 0;
    walk_t walk = begin_message(tvb, pinfo, tree, data);
    if (!(smcr_layout_number(tvb, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST))
        return finish_message(&walk, tvb, show_socket(&walk, tvb));
    walk.told.kind = SMCR_TOLD_DONE;
    tvbuff_t *request = tvb_new_subset_remaining(tvb, NLMSG_LENGTH);
    walk_struct(&walk, request, walk.tree, IN_REQUEST);
    if (!walk.flawed)
        show_ends(&walk, request);
    return finish_message(&walk, tvb, "AF_SMC socket dump, request");
}

/* A family of generic netlink. */
typedef struct {
    const int *hf_command;        /* field for the command */
    const value_string *commands; /* names of the commands */
    uint8_t nests[256];           /* by command: nest of the outermost attributes, IN_... */
} family_t;

static const family_t smc_gen_netlink = {
    &hf_smcr_netlink_command, smcr_values_netlink_commands,
    {[9] = IN_EIDS, IN_EIDS, IN_EIDS, [13] = IN_SEID, [16] = IN_LIMIT,
     [251] = IN_DUMP, IN_DUMP}}; /* the others: IN_TOP, which is 0 */
static const family_t smc_pnetid = {
    &hf_smcr_netlink_pnet_command, smcr_values_pnet_commands,
    {IN_PNET, IN_PNET, IN_PNET, IN_PNET, IN_PNET}};

/* Sets walk->told.kind of a message of generic netlink by its attributes: a link group, a link, or
 * SMCR_TOLD_DONE for a message from which nothing is learned. Returns the summary. */
static const char *
describe(walk_t *walk, const family_t *family, unsigned command, bool request)
{
    const smcr_told_link_t *link = &walk->told.u.link;
    wmem_allocator_t *pool = walk->pinfo->pool;

    walk->told.kind = SMCR_TOLD_LGR;
    if (has_attributes(walk, IN_LGR, 1U << LGR_ID | 1U << LGR_ROLE | 1U << LGR_TYPE))
        return wmem_strdup_printf(pool, "Link group 0x%08x", walk->told.u.lgr.id);
    walk->told.kind = SMCR_TOLD_LINK;
    if (has_attributes(walk, IN_LINK, 1U << LINK_ID | 1U << LINK_STATE))
        return wmem_strdup_printf(pool, "Link %u on %s, %s", link->number, link->device,
                                  val_to_str_const(link->state, smcr_values_told_link_states, "?"));
    walk->told.kind = SMCR_TOLD_DONE;
    return wmem_strdup_printf(pool, "%s %s", request ? "Request" : "Answer",
                              val_to_str_const(command, family->commands, "unknown"));
}

/* Dissects a message of the family; `tvb` begins after its nlmsghdr. Returns the bytes used; 0: the
 * message is too short for the header of the family. */
static int
dissect_family(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const genl_info_t *generic,
               const family_t *family)
{
    int start = tvb_raw_offset(tvb) - NLMSG_LENGTH; /* offset of nlmsghdr */

    if (start < 0 || tvb_captured_length(tvb) < GENL_LENGTH)
        return 0;
    tvbuff_t *message = tvb_new_subset_remaining(tvb_get_ds_tvb(tvb), start);
    walk_t walk = begin_message(tvb, pinfo, tree, generic->nl_data);
    bool request = smcr_layout_number(message, FLAGS_AT, 2, walk.order) & WS_NLM_F_REQUEST;
    proto_tree_add_item(walk.tree, *family->hf_command, tvb, 0, 1, ENC_NA);
    proto_tree_add_item(walk.tree, hf_smcr_netlink_version, tvb, 1, 1, ENC_NA);
    walk_attributes(&walk, tvb_new_subset_remaining(tvb, GENL_LENGTH), walk.tree,
                    family->nests[generic->cmd]);
    return finish_message(&walk, message, describe(&walk, family, generic->cmd, request));
}

/* Dissects a message of SMC_GEN_NETLINK. `data`: genl_info_t. */
static int
dissect_generic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_family(tvb, pinfo, tree, data, &smc_gen_netlink);
}

/* Dissects a message of SMC_PNETID. `data`: genl_info_t. */
static int
dissect_pnetid(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_family(tvb, pinfo, tree, data, &smc_pnetid);
}

/* Whether the message of `length` bytes whose nlmsghdr is at `at` ends a dump without an error. */
static bool
ends_dump(const walk_t *walk, tvbuff_t *tvb, unsigned at, unsigned length)
{
    if (smcr_layout_number(tvb, at + NLMSG_TYPE_AT, 2, walk->order) != WS_NLMSG_DONE)
        return false;
    return length < NLMSG_LENGTH + ERROR_LENGTH ||
           smcr_layout_number(tvb, at + NLMSG_LENGTH, ERROR_LENGTH, walk->order) == 0;
}

/* Reports to the state which dumps end in a frame of SOCK_DIAG. Must be called after the messages
 * of the frame have been dissected. The byte order of the host is the order in which the length of
 * the first message fits the frame. */
static void
learn_dump_ends(tvbuff_t *tvb, packet_info *pinfo)
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
        if (ends_dump(&walk, tvb, at, length))
            learn_message(&walk, tvb, at);
    }
}

/* ---- hooks ---- */

static dissector_handle_t original_frame;  /* Wireshark's dissector for frames of netlink */
static dissector_handle_t original_socket; /* Wireshark's dissector for messages of SOCK_DIAG */
static dissector_handle_t ours;            /* handle of dissect_socket() */

/* Calls Wireshark's dissector for netlink frames. After it, the state learns which dumps end in
 * this frame. */
static int
wrap_netlink_frame(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_frame, tvb, pinfo, tree, data);

    if (used && proto_is_protocol_enabled(find_protocol_by_id(proto_smcr)))
        learn_dump_ends(tvb, pinfo);
    return used;
}

/* Replaces Wireshark's dissector of SOCK_DIAG: calls it, then, for messages about sockets of any
 * family, dissect_socket(). Returns the result of Wireshark's dissector. */
static int
wrap_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_socket, tvb, pinfo, tree, data);

    if (used && ((struct packet_netlink_data *)data)->type == SOCK_DIAG_BY_FAMILY)
        call_dissector_only(ours, tvb, pinfo, tree, data);
    return used;
}

/* Users cannot disable the internal protocol (proto_set_cant_toggle()). `seen` is emptied with each
 * file. */
void
smcr_netlink_register(void)
{
    observer = proto_register_protocol_in_name_only(
        "Netlink (observed by SMC-R)", "Netlink/SMC-R", "smcr.netlink",
        proto_get_id_by_filter_name("netlink"), FT_BYTES);
    proto_set_cant_toggle(observer);
    seen = wmem_map_new_autoreset(wmem_epan_scope(), wmem_file_scope(), wmem_str_hash, g_str_equal);
}

/* Replaces the dissector for `key` in a table by `wrapper`. Returns the replaced dissector. */
static dissector_handle_t
replace_dissector(const char *table, uint32_t key, dissector_t wrapper)
{
    dissector_handle_t original = dissector_get_uint_handle(find_dissector_table(table), key);

    dissector_add_uint(table, key, create_dissector_handle(wrapper, observer));
    return original;
}

/* Each wrapper calls the dissector that it replaces, whose handle is kept here. */
void
smcr_netlink_handoff(void)
{
    ours = create_dissector_handle(dissect_socket, proto_smcr);
    original_frame = replace_dissector("wtap_encap", WTAP_ENCAP_NETLINK, wrap_netlink_frame);
    original_socket = replace_dissector("netlink.protocol", WS_NETLINK_SOCK_DIAG, wrap_socket);
    dissector_add_string("genl.family", "SMC_GEN_NETLINK",
                         create_dissector_handle(dissect_generic, proto_smcr));
    dissector_add_string("genl.family", "SMC_PNETID",
                         create_dissector_handle(dissect_pnetid, proto_smcr));
}
