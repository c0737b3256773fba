/* names.c
 * Names connections by their addresses, as Wireshark's users know them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "words.h"

#include <inttypes.h>
#include <string.h>

const char *
smcr_words_clean(wmem_allocator_t *scope, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    wmem_strbuf_t *clean = wmem_strbuf_new(scope, "");

    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar character = g_utf8_get_char(at);
        wmem_strbuf_append_unichar(clean, g_unichar_isprint(character) ? character : '?');
    }
    g_free(valid);
    return wmem_strbuf_finalize(clean);
}

const char *
smcr_words_endpoint(wmem_allocator_t *scope, const smcr_entry_endpoint_t *endpoint)
{
    const char *addr = endpoint->addr ? endpoint->addr : "?";
    bool colons = strchr(addr, ':') != NULL;

    if (endpoint->port == SMCR_FIGURE_UNKNOWN)
        return addr;
    return wmem_strdup_printf(scope, "%s%s%s:%" PRIu64, colons ? "[" : "", addr, colons ? "]" : "",
                              endpoint->port);
}

/* `direction`: what is said of it where the addresses are not known. */
static const char *
name_of(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server,
        const char *direction)
{
    const smcr_entry_endpoint_t *from = to_server ? &conn->client : &conn->server;
    const smcr_entry_endpoint_t *to = to_server ? &conn->server : &conn->client;

    if (from->addr || to->addr)
        return smcr_words_hosts(scope, smcr_words_endpoint(scope, from),
                                smcr_words_endpoint(scope, to));
    if (conn->stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "connection %" PRIu64 "%s", conn->stream, direction);
    return "a connection";
}

const char *
smcr_words_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server)
{
    return name_of(scope, conn, to_server, to_server ? " to the server" : " to the client");
}

const char *
smcr_words_connection(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    return name_of(scope, conn, true, "");
}

const char *
smcr_words_connections(wmem_allocator_t *scope, const smcr_entry_connection_t *first,
                       uint64_t count)
{
    if (!first)
        return "no connection";
    return smcr_words_and_more(scope, smcr_words_connection(scope, first), count);
}

const char *
smcr_words_and_more(wmem_allocator_t *scope, const char *first, uint64_t count)
{
    if (count < 2)
        return first;
    return wmem_strdup_printf(scope, "%s and %s", first,
                              smcr_words_things(scope, count - 1, "more connection"));
}

const char *
smcr_words_hosts(wmem_allocator_t *scope, const char *src, const char *dst)
{
    return wmem_strdup_printf(scope, "%s → %s", src, dst);
}

const char *
smcr_words_connection_filter(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    if (conn->stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "smcr.stream == %" PRIu64, conn->stream);
    if (conn->tcp_stream != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
    return "smcr";
}

const char *
smcr_words_link(wmem_allocator_t *scope, uint64_t group, uint64_t link)
{
    const char *name = wmem_strdup_printf(scope, "link group %" PRIu64, group);

    if (link == SMCR_FIGURE_UNKNOWN)
        return group == SMCR_FIGURE_UNKNOWN ? "a link" : name;
    if (group == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "link %" PRIu64, link);
    return wmem_strdup_printf(scope, "link %" PRIu64 " of %s", link, name);
}
