/* Writes lines. A line of the Elastic Common Schema has the common names at its top, and the line
 * itself as the member `smcr`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "output_line.h"

#include <errno.h>
#include <stdlib.h>

#include <wsutil/json_dumper.h>

#include "report/write/output.h"

#define SCHEMA "smcr-lines/1"
#define ECS_VERSION "8.11"
#define WRITE_FAILED 2 /* exit status of tshark if it cannot write */

/* ---- Elastic Common Schema ---- */

/* The values that a line has for common names of the schema; SMCR_FIGURE_UNKNOWN or NULL: not
 * known. */
typedef struct {
    const char *addr[2]; /* addresses of source and destination: of a connection of SMC-R client and
                            server; of a TCP connection sender and receiver of the first captured
                            segment; of a flow sender and receiver */
    uint64_t port[2];    /* their TCP ports */
    uint64_t bytes[2];   /* bytes of the application that each end has sent */
    uint64_t begin, end; /* first and last packet, nanoseconds since 1970 */
} common_t;

/* Returns the values of a line that have common names. Only lines of connections of SMC-R and TCP
 * have ports and times; a line of a flow has addresses only. */
static common_t
common_of(const smcr_entry_line_t *line)
{
    const smcr_entry_connection_t *conn = line->connection;
    const smcr_entry_tcp_t *tcp = line->tcp;
    common_t none = {{NULL, NULL}, {SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN},
                     {SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN}, SMCR_FIGURE_UNKNOWN,
                     SMCR_FIGURE_UNKNOWN};

    if (conn)
        return (common_t){{conn->client.addr, conn->server.addr},
                          {conn->client.port, conn->server.port},
                          {conn->client_to_server.bytes, conn->server_to_client.bytes},
                          conn->first_frame.time, conn->last_frame.time};
    if (tcp)
        return (common_t){{tcp->src, tcp->dst},
                          {tcp->src_port, tcp->dst_port},
                          {SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN},
                          tcp->first_time, tcp->last_frame.time};
    if (line->flow) {
        none.addr[0] = line->flow->src;
        none.addr[1] = line->flow->dst;
    }
    return none;
}

/* Writes a member of the open object: the schema leaves out what is not known, so this function
 * writes nothing if `text` is NULL. */
static void
write_text(json_dumper *dumper, const char *name, const char *text)
{
    if (!text)
        return;
    json_dumper_set_member_name(dumper, name);
    json_dumper_value_string(dumper, text);
}

/* Writes a member of the open object; nothing if the number is SMCR_FIGURE_UNKNOWN. */
static void
write_number(json_dumper *dumper, const char *name, uint64_t number)
{
    if (number == SMCR_FIGURE_UNKNOWN)
        return;
    json_dumper_set_member_name(dumper, name);
    json_dumper_value_anyf(dumper, "%" PRIu64, number);
}

/* Begins a member that is an object. The caller ends it with json_dumper_end_object(). */
static void
begin_object(json_dumper *dumper, const char *name)
{
    json_dumper_set_member_name(dumper, name);
    json_dumper_begin_object(dumper);
}

/* Writes a time since 1970, nanoseconds, as ISO 8601 in UTC; nothing if the time is not known. */
static void
write_time(json_dumper *dumper, const char *name, uint64_t time, wmem_allocator_t *scope)
{
    if (time == SMCR_FIGURE_UNKNOWN)
        return;
    GDateTime *date = g_date_time_new_from_unix_utc((gint64)(time / SMCR_TIME_SECOND));
    char *second = date ? g_date_time_format(date, "%Y-%m-%dT%H:%M:%S") : NULL;

    if (second)
        write_text(dumper, name,
                   wmem_strdup_printf(scope, "%s.%09" PRIu64 "Z", second, time % SMCR_TIME_SECOND));
    g_free(second);
    if (date)
        g_date_time_unref(date);
}

/* Writes the object of one end: `name` is "source" or "destination". Writes nothing if the address
 * of the end is not known. */
static void
write_end(json_dumper *dumper, const char *name, const common_t *common, unsigned end)
{
    if (!common->addr[end])
        return;
    begin_object(dumper, name);
    write_text(dumper, "ip", common->addr[end]);
    write_number(dumper, "port", common->port[end]);
    write_number(dumper, "bytes", common->bytes[end]);
    json_dumper_end_object(dumper);
}

/* Writes what kind of event the line is, and when the event was. */
static void
write_event(json_dumper *dumper, const smcr_entry_line_t *line, const common_t *common,
            wmem_allocator_t *scope)
{
    bool is_connection = line->connection || line->tcp;
    const char *kind = is_connection ? "event" : "metric";

    begin_object(dumper, "event");
    write_text(dumper, "kind", line->finding ? "alert" : kind);
    write_text(dumper, "dataset", wmem_strdup_printf(scope, "smcr.%s",
                                                     smcr_figure_line_kind_words[line->line]));
    write_text(dumper, "module", "smcr");
    write_text(dumper, "id", line->uid);
    write_time(dumper, "start", common->begin, scope);
    write_time(dumper, "end", common->end, scope);
    if (common->end != SMCR_FIGURE_UNKNOWN && common->end >= common->begin)
        write_number(dumper, "duration", common->end - common->begin);
    json_dumper_end_object(dumper);
}

/* Writes the object `network`: the protocol that the application sees, the Community ID, and the
 * bytes of both directions. Only lines of a connection of SMC-R or TCP have it. */
static void
write_network(json_dumper *dumper, const smcr_entry_line_t *line, const common_t *common)
{
    uint64_t bytes = smcr_figure_sum(common->bytes[0], common->bytes[1]);

    if (!line->connection && !line->tcp)
        return;
    begin_object(dumper, "network");
    write_text(dumper, "transport", "tcp");
    write_text(dumper, "community_id", line->community_id);
    write_number(dumper, "bytes", bytes);
    json_dumper_end_object(dumper);
}

/* Writes the object `observer`: the capturing host, which the user has named in the options, and
 * the interface of the subject's packets. Writes nothing if both are not known. */
static void
write_observer(json_dumper *dumper, const smcr_entry_line_t *line)
{
    if (!line->host && !line->interface)
        return;
    begin_object(dumper, "observer");
    write_text(dumper, "hostname", line->host);
    if (line->interface) {
        begin_object(dumper, "ingress");
        begin_object(dumper, "interface");
        write_text(dumper, "name", line->interface);
        json_dumper_end_object(dumper);
        json_dumper_end_object(dumper);
    }
    json_dumper_end_object(dumper);
}

/* Appends the line with the common names at its top. `own`: the line itself, with its newline. */
static void
append_common(GString *text, const smcr_entry_line_t *line, const char *own,
              wmem_allocator_t *scope)
{
    json_dumper dumper = {.output_string = text};
    const common_t common = common_of(line);

    json_dumper_begin_object(&dumper);
    write_time(&dumper, "@timestamp", line->time, scope);
    begin_object(&dumper, "ecs");
    write_text(&dumper, "version", ECS_VERSION);
    json_dumper_end_object(&dumper);
    write_event(&dumper, line, &common, scope);
    write_end(&dumper, "source", &common, 0);
    write_end(&dumper, "destination", &common, 1);
    write_network(&dumper, line, &common);
    write_observer(&dumper, line);
    json_dumper_set_member_name(&dumper, "smcr");
    json_dumper_value_anyf(&dumper, "%.*s", (int)strlen(own) - 1, own);
    json_dumper_end_object(&dumper);
    json_dumper_finish(&dumper);
}

/* ---- lines ---- */

/* Prints the error, and ends the program: does not return. `error`: a value of errno. */
static void
fail(int error)
{
    fprintf(stderr, "smcr,lines: a line could not be written: %s\n", g_strerror(error));
    exit(WRITE_FAILED);
}

/* The line is written at once and flushed, so that a reader of the pipe gets whole lines. */
void
smcr_lines_write(const smcr_lines_options_t *options, smcr_entry_line_t *line,
                 wmem_allocator_t *scope)
{
    GString *text = g_string_new(NULL);

    line->schema = SCHEMA;
    line->is_full = smcr_figure_truth(options->full);
    line->host = options->host;
    line->point = options->point;
    smcr_json_write_line(text, line);
    if (options->ecs) {
        const char *own = wmem_strdup(scope, text->str);
        g_string_truncate(text, 0);
        append_common(text, line, own, scope);
    }
    errno = 0;
    bool is_written = fwrite(text->str, 1, text->len, stdout) == text->len && !fflush(stdout);
    int error = errno;
    g_string_free(text, TRUE);
    if (!is_written)
        fail(error);
}
