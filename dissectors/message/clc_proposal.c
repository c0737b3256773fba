/* CLC Proposal, RFC 7609 A.2.2: its first 40 bytes, the IP area, and the kinds of SMC that it
 * offers. The areas that Linux adds for SMC-D and SMCv2 are in clc_proposal_v2.c.
 *
 * Offsets in the message state where its parts are. The IP area begins `ip_area_offset` bytes after
 * the end of the field that has this offset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "clc_messages.h"

#define IP_AREA_LENGTH 8    /* without the prefixes */

/* ---- layouts ---- */

static int *const flags_v1[] = {&hf_smcr_clc_version, &hf_smcr_reserved_0c, &hf_smcr_clc_typev1,
                                NULL};
static int *const flags_v2[] = {&hf_smcr_clc_version, &hf_smcr_clc_typev2, &hf_smcr_clc_typev1,
                                NULL};

/* First 40 bytes of a Proposal: RFC 7609 A.2.2 up to the offset of the IP area; struct
 * smc_clc_msg_proposal */
#define BASE_ROWS(bits_) \
    SMCR_MESSAGE_CLC_HEADER_ROWS(bits_), \
    KEEP_PART(hf_smcr_peer_id, 8, 8, smcr_message_clc_peer_id, ett_smcr_peer_id, \
              smcr_clc_proposal_t, peer_id), \
    KEEP_ALSO(hf_smcr_clc_gid, hf_smcr_gid, 16, 16, smcr_clc_proposal_t, gid), \
    KEEP(hf_smcr_mac, 32, SMCR_WIRE_MAC_LENGTH, smcr_clc_proposal_t, mac), \
    KEEP(hf_smcr_clc_ip_area_offset, 38, 2, smcr_clc_proposal_t, ip_area_offset)

SMCR_LAYOUT(base_v1, "SMC Proposal", SMCR_CLC_BASE_LENGTH, BASE_ROWS(flags_v1));
SMCR_LAYOUT(base_v2, "SMC Proposal v2", SMCR_CLC_BASE_LENGTH, BASE_ROWS(flags_v2));

/* IP area of a Proposal without its prefixes: RFC 7609 A.2.2 from the mask on; struct
 * smc_clc_msg_proposal_prefix */
SMCR_LAYOUT(ip_area, "IP area", IP_AREA_LENGTH,
    KEEP(hf_smcr_clc_subnet, 0, 4, smcr_clc_proposal_t, subnet),
    KEEP(hf_smcr_clc_subnet_length, 4, 1, smcr_clc_proposal_t, subnet_length),
    SHOW(hf_smcr_reserved, 5, 2),
    KEEP(hf_smcr_clc_prefix_count, 7, 1, smcr_clc_proposal_t, prefix_count));

/* An IPv6 prefix of the IP area, as on the wire. */
typedef struct {
    uint8_t address[SMCR_GID_LENGTH]; /* the address; bits after `length` should be 0 */
    uint8_t length; /* length of the prefix, bits; more than 128 is a fault of the sender */
} prefix_t;
_Static_assert(sizeof(prefix_t) == SMCR_WIRE_PREFIX_LENGTH, "kept as it is on the wire");

/* Layout of an IPv6 prefix in a Proposal: RFC 7609 figure 27; struct smc_clc_ipv6_prefix */
SMCR_LAYOUT(prefix_layout, "IPv6 prefix", SMCR_WIRE_PREFIX_LENGTH,
    KEEP(hf_smcr_clc_prefix, 0, 16, prefix_t, address),
    KEEP(hf_smcr_clc_prefix_length, 16, 1, prefix_t, length));

/* ---- IP area ---- */

/* Whether the subnet field has bits that are set after the bits of the mask. Then the field is
 * neither a mask nor a network address. */
static bool
has_host_bits(const smcr_clc_proposal_t *proposal)
{
    unsigned bits = proposal->subnet_length;

    return bits > 0 && bits < 32 &&
           smcr_wire_number(proposal->subnet, sizeof proposal->subnet) & UINT32_MAX >> bits;
}

/* Returns the meaning of the subnet field as text. RFC 7609 prescribes the mask in this field;
 * Linux sends the network address. NULL: not known, because the length of the mask is not 1 to 32,
 * or because the field may be either: a mask of up to 7 bits has the form of a network address. */
static const char *
subnet_kind(const smcr_clc_proposal_t *proposal)
{
    unsigned bits = proposal->subnet_length;
    uint32_t subnet = (uint32_t)smcr_wire_number(proposal->subnet, sizeof proposal->subnet);

    if (bits == 0 || bits > 32)
        return NULL;
    uint32_t mask = UINT32_MAX << (32 - bits);
    if (subnet == mask)
        return bits >= 8 ? "mask" : NULL;
    return has_host_bits(proposal) ? "address with bits outside its mask" : "network address";
}

/* Appends the subnet to the line of the IP area, ": 10.0.0.0/24" or ": IPv4, mask of 24 bits". */
static void
append_subnet(const smcr_layout_walk_t *walk, const smcr_clc_proposal_t *proposal,
              const char *kind)
{
    const uint8_t *subnet = proposal->subnet;

    if (g_str_equal(kind, "mask"))
        proto_item_append_text(walk->tree, ": IPv4, mask of %u bits", proposal->subnet_length);
    else
        proto_item_append_text(walk->tree, ": %u.%u.%u.%u/%u", subnet[0], subnet[1], subnet[2],
                               subnet[3], proposal->subnet_length);
}

/* Appends `separator` and a text such as "2 IPv6 prefixes" to the line of the IP area. */
static void
append_prefix_count(const smcr_layout_walk_t *walk, const char *separator, unsigned count)
{
    proto_item_append_text(walk->tree, "%s%u IPv6 prefix%s", separator, count,
                           count == 1 ? "" : "es");
}

/* Adds the meaning of the subnet field to its item, and the subnet and the number of IPv6 prefixes
 * to the line of the IP area. Raises an expert item if the subnet has bits after its mask. */
static void
describe_ip_area(const smcr_layout_walk_t *walk, const smcr_clc_proposal_t *proposal)
{
    const char *kind = subnet_kind(proposal);

    if (kind)
        proto_item_append_text(smcr_layout_item(walk, hf_smcr_clc_subnet), " (%s)", kind);
    if (has_host_bits(proposal)) /* (R-A.2.2-6) */
        smcr_say_note_format(walk, hf_smcr_clc_subnet, &ei_smcr_clc_unusual,
                             "The subnet has bits after its mask");
    if (kind)
        append_subnet(walk, proposal, kind);
    if (proposal->prefix_count)
        append_prefix_count(walk, kind ? ", " : ": ", proposal->prefix_count);
}

/* Whether the prefix has bits that are set after its length. */
static bool
has_more_bits(const prefix_t *prefix)
{
    unsigned byte = prefix->length / 8;
    bool more = byte < sizeof prefix->address && prefix->address[byte] & 0xff >> prefix->length % 8;

    while (!more && ++byte < sizeof prefix->address)
        more = prefix->address[byte] != 0;
    return more;
}

/* Dissects `count` IPv6 prefixes from `start` on. All are shown, and the first
 * SMCR_WIRE_PREFIXES_MAX are kept. */
static void
dissect_prefixes(smcr_message_clc_t *message, const smcr_layout_walk_t *walk, unsigned start,
                 unsigned count)
{
    smcr_clc_proposal_t *proposal = &message->clc->u.proposal;

    for (unsigned i = 0; i < count; i++) {
        prefix_t prefix;

        if (!smcr_clc_walk(message, walk, &prefix_layout, start + i * SMCR_WIRE_PREFIX_LENGTH,
                           &prefix))
            return;
        if (i < SMCR_WIRE_PREFIXES_MAX)
            memcpy(proposal->prefixes[proposal->prefixes_kept++], &prefix, sizeof prefix);
        proto_item_append_text(smcr_layout_item(walk, hf_smcr_clc_prefix), "/%u", prefix.length);
        if (prefix.length > 128)
            smcr_say_note(walk, hf_smcr_clc_prefix_length, &ei_smcr_clc_subnet);
        else if (has_more_bits(&prefix)) /* (R-A.2.2-6) */
            smcr_say_note_format(walk, hf_smcr_clc_prefix, &ei_smcr_clc_unusual,
                                 "The prefix has bits after its length");
    }
}

/* Dissects the IP area. Returns the number of bytes that the IP area should have by its count of
 * prefixes; 0: the offset of the IP area is impossible, or snaplen has truncated the message before
 * the prefixes. */
static unsigned
dissect_ip_area(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal)
{
    unsigned start = SMCR_CLC_BASE_LENGTH + proposal->ip_area_offset;
    unsigned prefixes = start + IP_AREA_LENGTH;

    if (!smcr_clc_place_is_possible(message, &message->walk, hf_smcr_clc_ip_area_offset, start,
                                    IP_AREA_LENGTH))
        return 0;

    smcr_layout_walk_t walk = smcr_clc_subtree(&message->walk, hf_smcr_clc_ip_area,
                                               ett_smcr_ip_area, start, IP_AREA_LENGTH);
    if (!smcr_clc_walk(message, &walk, &ip_area, start, proposal))
        return 0;
    proposal->has_ip_area = true;
    describe_ip_area(&walk, proposal);
    if (proposal->subnet_length > 32)
        smcr_say_note(&walk, hf_smcr_clc_subnet_length, &ei_smcr_clc_subnet);

    unsigned count = smcr_clc_check_list(
        message, &walk,
        &(smcr_message_clc_list_t){.hf_count = hf_smcr_clc_prefix_count,
                                   .count = proposal->prefix_count, .start = prefixes,
                                   .length = SMCR_WIRE_PREFIX_LENGTH});
    dissect_prefixes(message, &walk, prefixes, count);
    smcr_clc_subtree_end(message, &walk, prefixes + count * SMCR_WIRE_PREFIX_LENGTH);
    return IP_AREA_LENGTH + SMCR_WIRE_PREFIX_LENGTH * (unsigned)proposal->prefix_count;
}

/* ---- the message ---- */

/* Returns the kinds of SMC that the Proposal offers: "SMC-Rv1 and SMC-Rv2", separated by
 * `separator`; or "nothing" if it offers no kind. */
static const char *
offers_text(const smcr_message_clc_t *message, const char *separator)
{
    wmem_strbuf_t *text = wmem_strbuf_new(message->walk.pinfo->pool, "");
    const smcr_clc_proposal_t *proposal = &message->clc->u.proposal;
    const unsigned v1 = smcr_clc_offered_v1(message);
    const unsigned v2 = smcr_clc_offered_v2(message);
    const struct {
        bool offered;     /* the Proposal offers this kind of SMC */
        const char *name; /* its name without the release */
        unsigned release; /* release of version 2; 0: release 0, or version 1 */
    } offers[] = {
        {smcr_clc_offers_smcr(v1), "SMC-Rv1", 0},
        {smcr_clc_offers_smcd(v1), "SMC-Dv1", 0},
        {smcr_clc_offers_smcr(v2), "SMC-Rv2", smcr_clc_release(proposal)},
        {smcr_clc_offers_smcd(v2), "SMC-Dv2", smcr_clc_release(proposal)},
    };
    bool first = true;

    for (unsigned i = 0; i < array_length(offers); i++) {
        if (!offers[i].offered)
            continue;
        wmem_strbuf_append_printf(text, "%s%s", first ? "" : separator, offers[i].name);
        if (offers[i].release)
            wmem_strbuf_append_printf(text, ".%u", offers[i].release);
        first = false;
    }
    return first ? "nothing" : wmem_strbuf_get_str(text);
}

/* Writes the versions that the Proposal offers into the Info column and the line of the message,
 * and the number of EIDs if the Proposal has an SMCv2 extension (`has_v2`). */
static void
summarize(const smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    unsigned eids = message->clc->u.proposal.eid_count;

    smcr_say_info(walk, " %s", offers_text(message, "+"));
    smcr_say_line(walk, ": %s", offers_text(message, " and "));
    if (!message->clc->u.proposal.has_v2)
        return;
    smcr_say_info(walk, " EIDs=%u", eids);
    smcr_say_line(walk, ", %u EID%s", eids, eids == 1 ? "" : "s");
}

/* Whether the SMC-D area follows the first 40 bytes. Version 2 always has the SMC-D area. In
 * version 1 the area exists if the IP area begins exactly after it. */
static bool
has_smcd_area(const smcr_message_clc_t *message)
{
    return message->format == 2 ||
           message->clc->u.proposal.ip_area_offset == SMCR_CLC_SMCD_AREA_LENGTH;
}

/* Whether the Proposal has an IP area. A Proposal of version 2 has an IP area only if it also
 * offers version 1. */
static bool
has_ip_area(const smcr_message_clc_t *message)
{
    return message->format == 1 || smcr_clc_offered_v1(message) != SMCR_CLC_TYPE_NONE;
}

/* Dissects the areas after the first 40 bytes. Returns the number of bytes that the message should
 * have by its counts and offsets. */
static unsigned
dissect_areas(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal)
{
    unsigned before_ip_area =
        message->format == 2 ? SMCR_CLC_SMCD_AREA_LENGTH : proposal->ip_area_offset;
    unsigned length = SMCR_CLC_BASE_LENGTH + before_ip_area + SMCR_CLC_TRAILER_LENGTH;

    if (has_smcd_area(message))
        smcr_clc_smcd_area_dissect(message, proposal);
    if (message->reached_end && has_ip_area(message))
        length += dissect_ip_area(message, proposal);
    if (!message->reached_end || smcr_clc_offered_v2(message) == SMCR_CLC_TYPE_NONE)
        return length;
    return length + smcr_clc_v2_extension_dissect(message, proposal);
}

/* Checks that a Proposal for SMC-R of version 1 has GID and MAC. Linux sends zeros if it does not
 * offer SMC-R of version 1. (R-A.2.2-7) */
static void
check_device(const smcr_message_clc_t *message, const smcr_clc_proposal_t *proposal)
{
    const smcr_layout_walk_t *walk = &message->walk;

    if (!smcr_clc_offers_smcr(smcr_clc_offered_v1(message)))
        return;
    if (smcr_clc_is_zero(proposal->gid, SMCR_GID_LENGTH))
        smcr_say_note(walk, hf_smcr_clc_gid, &ei_smcr_clc_gid_missing);
    smcr_clc_check_mac(message, proposal->mac);
}

/* Dissects the first 40 bytes and the areas after them. If all areas are complete and consistent,
 * the exact length of the message follows from them; if not, only a lower bound. */
static void
dissect_parts(smcr_message_clc_t *message)
{
    smcr_clc_proposal_t *proposal = &message->clc->u.proposal;
    bool v2 = message->format == 2;
    unsigned next = v2 ? SMCR_CLC_SMCD_AREA_LENGTH : IP_AREA_LENGTH;

    message->required_length = SMCR_CLC_BASE_LENGTH + next + SMCR_CLC_TRAILER_LENGTH;
    if (!smcr_clc_walk(message, &message->walk, v2 ? &base_v2 : &base_v1, 0, proposal))
        return;
    smcr_clc_explain_peer_id(message, proposal->peer_id);
    check_device(message, proposal);
    unsigned length = dissect_areas(message, proposal);
    if (message->reached_end && message->consistent) {
        message->required_length = length;
        message->length_is_exact = true;
    }
}

/* Whether the Proposal offers anything is checked after all parts are decoded. */
void
smcr_clc_proposal(smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;

    dissect_parts(message);
    if (smcr_clc_offered_v1(message) == SMCR_CLC_TYPE_NONE &&
        smcr_clc_offered_v2(message) == SMCR_CLC_TYPE_NONE)
        smcr_say_note_format(walk, hf_smcr_clc_typev1, &ei_smcr_clc_path,
                             "The Proposal offers neither SMC-R nor SMC-D");
    summarize(message);
}

SMCR_LAYOUT_LIST(clc_proposal, &base_v1, &base_v2, &ip_area, &prefix_layout);
