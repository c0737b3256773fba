/* smcss.c
 * What a file with the output of `smcss -a -d -R -W` tells of a host's sockets: from the first
 * frame on, as if the host had told it there (smc-tools, smcss.c). Its time is not known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stdio.h>

#include <wsutil/inet_addr.h>
#include <wsutil/report_message.h>
#include <wsutil/strtoi.h>

#include "capture.h"
#include "preferences.h"

/* "10.0.0.1:80", "2001:db8::1:80" */
static bool
read_end(char *text, uint8_t address[SMCR_GID_LENGTH], uint16_t *port)
{
    char *colon = strrchr(text, ':');
    ws_in4_addr ipv4;

    if (!colon || !ws_strtou16(colon + 1, NULL, port))
        return false;
    *colon = '\0';
    if (!ws_inet_pton4(text, &ipv4))
        return ws_inet_pton6(text, (ws_in6_addr *)(void *)address);
    smcr_gid_map_ipv4(address, &ipv4);
    return true;
}

/* Returns the column that is missing or wrong; "": the line tells of no SMC-R connection; NULL: all
 * is read. */
static const char *
read_line(const char *line, smcr_told_socket_t *told)
{
    static const char *const columns[] = {
        "State", "Local Address", "Peer Address", "Mode", "Token", "Rcvbuf", "Peerbuf",
        "rxprod-Cursor", "rxprod-Cursor", "rxcons-Cursor", "rxcons-Cursor", "txprod-Cursor",
        "txprod-Cursor", "txcons-Cursor", "txcons-Cursor", "Role", "Linkid", "GID", "Peer-GID"};
    static const char *const other_lines[] = {"", "State", "INIT", "CLOSED", "LISTEN", NULL};
    static const char *const other_modes[] = {"TCP", "SMCD", NULL};
    char state[16] = "", end[SMCR_TOLD_ENDS][64], mode[6] = "", role[5], gid[SMCR_TOLD_ENDS][41];
    char more;
    int count = sscanf(
        line, "%15s %*s %*s %63s %63s %*s %5s %*s %8x %*s %8x %8x %4hx:%8x %4hx:%8x %*s %4hx:%8x "
        "%4hx:%8x %*s %*s %*s %*s %4s %*s %*s %2hhx %40s %40s %c", state, end[0], end[1], mode,
        &told->token, &told->size[0], &told->size[1], &told->rx_prod.wrap, &told->rx_prod.count,
        &told->rx_cons.wrap, &told->rx_cons.count, &told->tx_prod.wrap, &told->tx_prod.count,
        &told->tx_cons.wrap, &told->tx_cons.count, role, &told->link_number, gid[0], gid[1], &more);

    if (g_strv_contains(other_lines, state) || g_strv_contains(other_modes, mode))
        return "";
    if (count != array_length(columns))
        return count < (int)array_length(columns) ? columns[MAX(count, 0)] : "behind Peer-GID";
    told->is_server = strcmp(role, "SERV") == 0;
    return !read_end(end[0], told->address[0], &told->port[0]) ? "Local Address"
           : !read_end(end[1], told->address[1], &told->port[1]) ? "Peer Address"
           : strcmp(mode, "SMCR") != 0 ? "Mode"
           : told->rx_prod.count >= told->size[0] ? "rxprod-Cursor"
           : told->rx_cons.count >= told->size[1] ? "rxcons-Cursor"
           : told->tx_prod.count >= told->size[1] ? "txprod-Cursor"
           : told->tx_cons.count >= told->size[0] ? "txcons-Cursor"
           : !told->is_server && strcmp(role, "CLNT") != 0 ? "Role"
           : !ws_inet_pton6(gid[0], (ws_in6_addr *)(void *)told->gid[0]) ? "GID"
           : !ws_inet_pton6(gid[1], (ws_in6_addr *)(void *)told->gid[1]) ? "Peer-GID" : NULL;
}

static void
tell_line(smcr_state_t *state, const char *line, unsigned number, GString *refused)
{
    smcr_record_t record;
    smcr_arrival_t arrival = {.state = state, .record = &record};
    smcr_told_t told = {.u.socket = {.has_conn = true, .has_lgr = true, .undated = true}};
    const char *wrong = read_line(line, &told.u.socket);

    smcr_record_begin(&record);
    if (!wrong)
        smcr_state_told(&arrival, &told);
    else if (*wrong)
        g_string_append_printf(refused, "\nLine %u: column %s is missing or wrong.", number, wrong);
    if (record.events)
        g_string_append_printf(refused, "\nLine %u: %s.", number, record.events->text);
}

void
smcr_capture_tell_smcss(smcr_state_t *state)
{
    const char *path = smcr_preferences.smcss;
    GString *refused = g_string_new(NULL);
    GError *error = NULL;
    char *text = NULL;

    if (path && *path && !g_file_get_contents(path, &text, NULL, &error)) {
        report_failure("SMC-R: %s", error->message);
        g_error_free(error);
    }
    char **lines = g_strsplit(text ? text : "", "\n", -1);
    for (unsigned at = 0; lines[at]; at++)
        tell_line(state, lines[at], at + 1, refused);
    if (refused->len)
        report_warning("SMC-R: %s is not what \"smcss -a -d -R -W\" prints.%.500s", path,
                       refused->str);
    g_strfreev(lines);
    g_free(text);
    g_string_free(refused, TRUE);
}
