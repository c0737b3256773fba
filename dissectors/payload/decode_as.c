/* decode_as.c
 * Decode As by the number of a connection (`-d smcr.stream==0,http`): for those whose ports are not
 * known, and for one alone among those of a port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/decode_as.h>

#include "fields.h"
#include "host/host.h"

#define TABLE "smcr.stream"

static dissector_table_t table; /* from registration until Wireshark ends */

dissector_handle_t
smcr_decode_as_chosen(const smcr_conn_t *conn)
{
    return dissector_get_uint_handle(table, conn->index);
}

/* Of the packet that is selected in the window. */
static void *
value_of(packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    return GUINT_TO_POINTER(conn ? conn->index : 0);
}

static void
prompt_of(packet_info *pinfo, char *prompt)
{
    snprintf(prompt, MAX_DECODE_AS_PROMPT_LEN, "SMC-R connection %u as",
             GPOINTER_TO_UINT(value_of(pinfo)));
}

static void
offer(const char *name _U_, void *handle, void *data _U_)
{
    dissector_add_for_decode_as(TABLE, handle);
}

/* What can be chosen for a port of TCP. */
static void
offer_all(void)
{
    dissector_table_foreach_handle("tcp.port", offer, NULL);
}

void
smcr_decode_as_register(int proto)
{
    static build_valid_func value[] = {value_of};
    static decode_as_value_t choice = {prompt_of, 1, value};
    static decode_as_t by_number = {"smcr", TABLE, 1, 0, &choice, NULL, NULL,
                                    decode_as_default_populate_list, decode_as_default_reset,
                                    decode_as_default_change, NULL};

    table = register_dissector_table(TABLE, "SMC-R connection", proto, FT_UINT32, BASE_DEC);
    register_decode_as(&by_number);
    register_final_registration_routine(offer_all);
}
