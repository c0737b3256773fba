/* segment.c
 * Acknowledgements, FIN, RST and whatever else of a connection's TCP has no message of ours: a
 * filter for the connection finds them. Nothing hands such a segment on to a dissector, so that of
 * TCP is wrapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "fields.h"
#include "host/host.h"
#include "show/show.h"

/* Set when protocols register. */
static int tcp;
static dissector_handle_t wrapper;
static dissector_handle_t original; /* TCP's dissector; NULL: it is not wrapped yet */

static bool
is_named(proto_tree *tree)
{
    GPtrArray *found = proto_find_first_finfo(tree, hf_smcr_stream);
    bool any = found->len > 0;

    g_ptr_array_free(found, TRUE);
    return any;
}

static int
dissect_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    int used = call_dissector_only(original, tvb, pinfo, tree, data);
    bool asked = tree && !pinfo->flags.in_error_pkt && pinfo->ptype == PT_TCP &&
                 smcr_capture_state() && smcr_conn_count(smcr_capture_state()) > 0 &&
                 (proto_field_is_referenced(tree, hf_smcr_stream) ||
                  smcr_show_ends_are_wanted(tree));
    const smcr_conn_t *conn = asked ? smcr_handshake_find(pinfo) : NULL;

    if (conn && pinfo->num >= conn->known_from && !is_named(tree))
        smcr_tcp_show_hidden_names(tvb, pinfo, tree, conn);
    return used;
}

void
smcr_tcp_segment_register(void)
{
    tcp = proto_get_id_by_filter_name("tcp");
    int observer = proto_register_protocol_in_name_only("TCP (observed by SMC-R)", "TCP/SMC-R",
                                                        "smcr.tcp", tcp, FT_BYTES);

    proto_set_cant_toggle(observer);
    wrapper = create_dissector_handle(dissect_segment, observer);
}

/* Before the first file: until then the tables are as Wireshark has them. */
static void
start_file(void)
{
    if (!original)
        original = smcr_hooks_replace("ip.proto", tcp, wrapper);
}

void
smcr_tcp_segment_handoff(void)
{
    register_init_routine(start_file);
}
