/* packet-smcr-netlink.c
 * 4. What a host tells about itself over netlink. Wireshark's dissectors for netlink and for its
 * SOCK_DIAG run as they would without us, and ours is added below where the family is AF_SMC.
 * Generic netlink has a table of families.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "fields.h"
#include "netlink/netlink.h"

#define SOCK_DIAG_BY_FAMILY 20

static dissector_handle_t original_frame, original_socket, ours;
static int observer; /* a protocol in name only owns the wrappers: frame.protocols stays */

static int
dissect_frame(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_frame, tvb, pinfo, tree, data);

    if (used && proto_is_protocol_enabled(find_protocol_by_id(proto_smcr)))
        smcr_netlink_learn_ends(tvb, pinfo);
    return used;
}

static int
dissect_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original_socket, tvb, pinfo, tree, data);

    if (used && ((struct packet_netlink_data *)data)->type == SOCK_DIAG_BY_FAMILY)
        call_dissector_only(ours, tvb, pinfo, tree, data);
    return used;
}

void
smcr_dissector_netlink_register(void)
{
    observer = proto_register_protocol_in_name_only(
        "Netlink (observed by SMC-R)", "Netlink/SMC-R", "smcr.netlink",
        proto_get_id_by_filter_name("netlink"), FT_BYTES);
    proto_set_cant_toggle(observer);
}

static dissector_handle_t
wrap(const char *table, uint32_t key, dissector_t wrapper)
{
    dissector_handle_t original = dissector_get_uint_handle(find_dissector_table(table), key);

    dissector_add_uint(table, key, create_dissector_handle(wrapper, observer));
    return original;
}

void
smcr_dissector_netlink_handoff(void)
{
    ours = create_dissector_handle(smcr_netlink_dissect_socket, proto_smcr);
    original_frame = wrap("wtap_encap", WTAP_ENCAP_NETLINK, dissect_frame);
    original_socket = wrap("netlink.protocol", WS_NETLINK_SOCK_DIAG, dissect_socket);
    dissector_add_string("genl.family", "SMC_GEN_NETLINK",
                         create_dissector_handle(smcr_netlink_dissect_generic, proto_smcr));
}
