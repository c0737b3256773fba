/* Gathers connections with the same trouble, and names them in a sentence and in a display filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "alike.h"

#include "report/words/words.h"

/* The connections are examined in the order of the report. */
smcr_finding_alike_t
smcr_finding_alike_gather(const smcr_finder_t *finder, smcr_finding_property_t *has_property)
{
    smcr_finding_alike_t group = {.frames = smcr_finder_frames(finder)};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_property(conn))
            continue;
        if (!group.first)
            group.first = conn;
        smcr_finder_frames_add_ends(group.frames, conn);
        const char *stream =
            conn->tcp_stream == SMCR_FIGURE_UNKNOWN
                ? smcr_words_connection_filter(finder->scope, conn)
                : wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
        group.streams = smcr_finder_either(finder, group.streams, stream, group.count++);
    }
    return group;
}

const char *
smcr_finding_alike_icmp_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group)
{
    return smcr_finder_undelivered(finder, group->first->client.addr, group->first->server.addr);
}

const char *
smcr_finding_alike_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group)
{
    return smcr_words_connections(finder->scope, group->first, group->count);
}

const char *
smcr_finding_alike_filter(const smcr_finder_t *finder, const smcr_finding_alike_t *group,
                          const char *what)
{
    if (!group->streams)
        return what;
    return wmem_strdup_printf(finder->scope, group->count == 1 ? "%s && %s" : "(%s) && %s",
                              group->streams, what);
}
