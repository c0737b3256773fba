/* Makes a new state whenever Wireshark opens a file or dissects it anew. What a file with the
 * output of `smcss -a -d -R -W` tells of a host's sockets it learns before the first frame, as if
 * the host had told it there (smc-tools, smcss.c). Its time is not known.
 *
 * Windows show a file that has been read. Wireshark goes over its frames again for each window of
 * statistics, and tells no tap which frame is the last. So a tap that listens from the beginning
 * remembers it. When a preference changes, Wireshark does not tell the end of the first pass; that
 * is over when frames come again. Where there are no windows, no tap listens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "capture.h"

#include <stdio.h>

#include <wiretap/wtap.h>
#include <wsutil/inet_addr.h>
#include <wsutil/report_message.h>
#include <wsutil/strtoi.h>
#include <wsutil/ws_assert.h>

#include "preferences.h"

/* From the opening of a file to its end; `listens` until the program ends. */
static struct {
    smcr_state_t *state;
    bool is_read, listens;
    uint32_t last_frame; /* that the tap has got */
} capture;

const smcr_state_t *
smcr_capture_state(void)
{
    return capture.state;
}

smcr_state_t *
smcr_capture_learn(const packet_info *pinfo)
{
    bool named = pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID;

    ws_assert(!pinfo->fd->visited);
    if (pinfo->rec->rec_header.packet_header.pkt_encap == WTAP_ENCAP_NETLINK)
        return capture.state; /* what a host tells is on no wire */
    smcr_state_place(capture.state, named ? pinfo->rec->rec_header.packet_header.interface_id : 0);
    return capture.state;
}

/* ---- what a host's sockets were ---- */

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

/* Returns the column that is missing or wrong; "": no SMC-R connection; NULL: all is read. */
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

/* Tells a new state of the sockets in the file `smcss`, and the user which lines are wrong. */
static void
tell_smcss(smcr_state_t *state)
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

/* ---- beginning and end ---- */

static void
end_file(void)
{
    capture.state = NULL;
    capture.is_read = false;
    capture.last_frame = 0;
}

/* The first pass over the frames of a file has come to its end. */
static void
end_pass(void)
{
    capture.is_read = true;
}

bool
smcr_capture_is_read(void)
{
    return capture.is_read;
}

void
smcr_capture_begin(void)
{
    end_file();
    capture.state = smcr_state_new(wmem_file_scope());
    tell_smcss(capture.state);
}

uint16_t
smcr_capture_vlan(const packet_info *pinfo)
{
    unsigned frames = 0, tags = 0, packets = 0;

    if (!pinfo->vlan_id)
        return 0;
    SMCR_LIST_EACH(void *, layer, pinfo->layers) {
        const char *name = proto_get_protocol_filter_name(GPOINTER_TO_INT(layer));
        frames += strcmp(name, "eth") == 0;
        tags += strcmp(name, "vlan") == 0;
        packets += strcmp(name, "ip") == 0 || strcmp(name, "ipv6") == 0;
    }
    return frames > 1 || tags > 1 || packets > 1 ? 0 : (uint16_t)pinfo->vlan_id;
}

nstime_t
smcr_capture_nstime(uint64_t nanoseconds)
{
    return (nstime_t){(time_t)(nanoseconds / SMCR_TIME_SECOND),
                      (int)(nanoseconds % SMCR_TIME_SECOND)};
}

/* ---- windows ---- */

/* Programs without windows have the functions too, but nothing that they work on. */
const funnel_ops_t *
smcr_host_window_ops(void)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();

    return ops && ops->new_text_window && ops->set_text && ops->append_text && ops->add_button &&
                   ops->new_dialog
               ? ops : NULL;
}

uint32_t
smcr_host_windows_last_frame(void)
{
    return capture.last_frame;
}

static tap_packet_status
take_frame(void *listener _U_, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
           tap_flags_t flags _U_)
{
    capture.is_read = pinfo->num <= capture.last_frame;
    capture.last_frame = MAX(pinfo->num, capture.last_frame);
    return TAP_PACKET_DONT_REDRAW;
}

static void
begin_windows(void)
{
    if (capture.listens || !smcr_host_window_ops())
        return;
    GString *error = register_tap_listener("frame", &capture, NULL, TL_REQUIRES_NOTHING, NULL,
                                           take_frame, NULL, NULL);

    capture.listens = !error;
    if (error)
        g_string_free(error, TRUE);
}

void
smcr_capture_register(void)
{
    register_init_routine(smcr_capture_begin);
    register_init_routine(begin_windows);
    register_postseq_cleanup_routine(end_pass);
    register_cleanup_routine(end_file);
}
