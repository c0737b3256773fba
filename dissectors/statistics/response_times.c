/* Service Response Time. Each message that answers a request is a sample. Its time is that of the
 * field smcr.response_time, so this field finds the samples, and each row of the tables has a
 * filter. Not a sample:
 * 1. a request without an answer;
 * 2. a retransmission or a duplicate of an answer;
 * 3. an answer whose request is not known, or was retransmitted;
 * 4. immediate data of an RDMA WRITE that answer a request.
 * If a second answer replaces the first one, both answers are samples.
 *
 * Also registers the other statistics of the menus.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include <epan/srt_table.h>

#include "host/host.h"
#include "fields.h"

enum { CLC, LLC, CDC, TABLES };

/* The tables of Service Response Time. Wireshark makes the filter of a row from three parts: the
 * filter of the table, "==", and the number of the row. Rows of the tables CLC and LLC are numbered
 * by steps, rows of the table CDC by message types. */
static const struct {
    const char *name, *tab; /* name of the table; name of its tab in the window */
    const char *column;     /* head of the column with the names of the rows */
    const char *filter;     /* display filter of the table, without "==" */
    int rows;               /* number of rows */
} tables[TABLES] = {
    [CLC] = {"SMC-R CLC", "CLC", "CLC step", "smcr.clc.step", SMCR_CLC_STEP_ACCEPT_DECLINED + 1},
    [LLC] = {"SMC-R LLC", "LLC", "LLC request", "smcr.llc.step", 0x80},
    [CDC] = {"SMC-R CDC", "CDC", "CDC request", "smcr.response_time && smcr.cdc.type", 0x100},
};

/* Makes the tables. A table has a row for each number that a step or a message type can have. */
static void
begin_tables(struct register_srt *srt _U_, GArray *array)
{
    static const value_string updates[] = {{SMCR_LLC_CDC, "Cursor update"}, {0, NULL}};
    const value_string *const names[TABLES] = {smcr_values_clc_steps, smcr_values_llc_steps,
                                               updates};

    for (unsigned i = 0; i < TABLES; i++) {
        srt_stat_table *table = init_srt_table(tables[i].name, tables[i].tab, array, tables[i].rows,
                                               tables[i].column, tables[i].filter, NULL);
        for (int row = 0; row < tables[i].rows; row++)
            init_srt_table_row(table, row, val_to_str_const((uint32_t)row, names[i], ""));
    }
}

/* ---- samples ---- */

/* Returns the index of the table that counts the packet's message. */
static unsigned
table_of(const smcr_tap_t *packet)
{
    if (packet->clc)
        return CLC;
    return packet->llc ? LLC : CDC;
}

/* Called by Wireshark for each packet of the tap `smcr`: adds a sample if the packet answers a
 * request. If the request was retransmitted, no sample is added: it is not known which transmission
 * the packet answers. */
static tap_packet_status
add_sample(void *data, packet_info *pinfo, epan_dissect_t *edt _U_, const void *tapped,
     tap_flags_t flags _U_)
{
    const srt_data_t *srt = data;
    const smcr_tap_t *packet = tapped;
    const smcr_exchange_t *answers = packet->record->ends_exchange;

    if (!answers || !answers->response_frame || answers->request_resent ||
        packet->record->kind == SMCR_RECORD_WRITE) /* immediate data have no message type */
        return TAP_PACKET_DONT_REDRAW;
    unsigned which = table_of(packet);
    nstime_t took = smcr_capture_nstime(smcr_exchange_time(answers)), asked;
    /* Wireshark computes the time of the sample from the time of the request. `asked` is set to the
     * time for which the result equals the field smcr.response_time. */
    nstime_delta(&asked, &pinfo->abs_ts, &took);
    add_srt_table_data(g_array_index(srt->srt_array, srt_stat_table *, which),
                       which == CDC ? SMCR_LLC_CDC : answers->step, &asked, pinfo);
    return TAP_PACKET_REDRAW;
}

void
smcr_statistics_register(int proto)
{
    smcr_conversations_register(proto);
    smcr_graph_register(proto);
    register_srt_table(proto, SMCR_TAP, TABLES, add_sample, begin_tables, NULL);
    smcr_conversation_filters_register();
}
