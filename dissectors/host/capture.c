/* Makes a new smcr_state_t whenever Wireshark opens a file or dissects the file anew. The
 * preference `smcss` names a file with the output of `smcss -a -d -R -W` (smc-tools, smcss.c). The
 * state learns the sockets in that file before the first frame, as if the host had reported them
 * over netlink. The time of these reports is not known.
 *
 * How this file finds the end of the first pass over the frames: In programs without windows,
 * Wireshark reports the end of the pass. In programs with windows, Wireshark does not always report
 * the end, for example not after a change of a preference. So in these programs a tap listener gets
 * all frames and keeps the highest frame number. The first pass is over when a frame comes for the
 * second time.
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

#include "clock.h"
#include "ip_packet.h"
#include "preferences.h"

/* The open file. */
static struct {
    smcr_state_t *state; /* state of the open file; NULL: no file is open */
    bool is_read;        /* the first pass is complete: each frame has been dissected once */
    bool listens;        /* the tap listener is registered; it stays until the program ends */
    uint32_t last_frame; /* the highest frame number that the tap has got */
    bool has_looked;     /* has_several_points() has been called for a packet of the file */
    uint32_t first_interface; /* interface of that first packet; set with `has_looked` */
    uint32_t first_device; /* device of that first packet, in a Linux cooked capture; set with
                              `has_looked` */
    const char *names[SMCR_POINTS_MOST]; /* names of the first interfaces; NULL: not known */
} capture;

const smcr_state_t *
smcr_capture_state(void)
{
    return capture.state;
}

/* The index is in network byte order. A header that is cut gives 0, as a capture without devices
 * does. */
uint32_t
smcr_capture_device(const packet_info *pinfo)
{
    enum { INDEX_AT = 4, HEADER = 20 }; /* of an SLL2 header */

    if (pinfo->rec->rec_header.packet_header.pkt_encap != WTAP_ENCAP_SLL2)
        return 0;
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);

    return frame.length >= HEADER ? smcr_wire_number32(frame.bytes + INDEX_AT) : 0;
}

/* ---- capture points ---- */

const char *
smcr_capture_interface_name(uint32_t interface)
{
    return interface < array_length(capture.names) ? capture.names[interface] : NULL;
}

/* The name is kept in file scope. Does nothing if the file does not have the name: Wireshark's API
 * then gives "unknown". */
void
smcr_capture_note_name(const packet_info *pinfo)
{
    uint32_t interface = smcr_capture_interface(pinfo);

    if (interface >= array_length(capture.names) || capture.names[interface])
        return;
    const char *name = compat_interface_name(pinfo, interface);
    if (name && strcmp(name, "unknown") != 0)
        capture.names[interface] = wmem_strdup(wmem_file_scope(), name);
}

/* Reads the numbers in the preference `points` into `list`. Returns how many there are; 0, with a
 * warning to the user, if the text is wrong. */
static uint32_t
read_points(const char *text, uint32_t list[SMCR_POINTS_MOST])
{
    char **parts = g_strsplit(text, ",", -1);
    uint32_t count = 0;

    for (unsigned at = 0; parts[at] && count < SMCR_POINTS_MOST; at++) {
        if (!ws_strtou32(g_strstrip(parts[at]), NULL, &list[count++])) {
            report_warning("SMC-R: the preference smcr.points is not off, auto, all, or numbers of "
                           "interfaces: %.100s", text);
            count = 0;
            break;
        }
    }
    g_strfreev(parts);
    return count;
}

/* Whether the file is known to have more than one capture point: interfaces, or devices in a Linux
 * cooked capture. Most files describe all interfaces before the first packet, so a name of the
 * second interface is the proof. Otherwise a packet from another interface or device is. */
static bool
has_several_points(const packet_info *pinfo)
{
    uint32_t interface = smcr_capture_interface(pinfo), device = smcr_capture_device(pinfo);

    if (capture.has_looked)
        return interface != capture.first_interface || device != capture.first_device;
    const char *second = compat_interface_name(pinfo, 1);
    capture.first_interface = interface;
    capture.first_device = device;
    capture.has_looked = true;
    return second && strcmp(second, "unknown") != 0;
}

bool
smcr_capture_compares_all_tcp(void)
{
    return smcr_preferences.points && strcmp(smcr_preferences.points, "all") == 0;
}

/* Makes the capture points. Called in the first pass, when the file is known to have more than one.
 * Returns false, and makes none, if the preference `points` turns them off. */
static bool
begin_points(void)
{
    const char *wish = smcr_preferences.points ? smcr_preferences.points : "";
    bool is_auto = !*wish || strcmp(wish, "auto") == 0 || smcr_capture_compares_all_tcp();
    uint32_t list[SMCR_POINTS_MOST];

    if (strcmp(wish, "off") == 0)
        return false;
    uint32_t count = is_auto ? 0 : read_points(wish, list);
    smcr_points_t *points = smcr_points_new(wmem_file_scope(), list, count);
    if (smcr_capture_compares_all_tcp())
        smcr_points_take_plain(points);
    smcr_state_set_points(capture.state, points);
    return true;
}

bool
smcr_capture_is_quoted(const packet_info *pinfo)
{
    bool is_first_pass = !pinfo->fd->visited;

    return pinfo->flags.in_error_pkt ||
           (is_first_pass && smcr_state_is_beyond(capture.state, pinfo->num));
}

/* First pass only. Notes the interface of the frame. If the file has capture points, also keeps the
 * name of the interface: reports name the points by these names. */
smcr_state_t *
smcr_capture_learn(const packet_info *pinfo)
{
    ws_assert(!pinfo->fd->visited);
    if (pinfo->rec->rec_header.packet_header.pkt_encap == WTAP_ENCAP_NETLINK)
        return capture.state; /* a netlink message has no interface to note: it is not captured on a
                                 network interface */
    smcr_state_set_interface(capture.state, smcr_capture_interface(pinfo));
    if (smcr_state_points(capture.state) || (has_several_points(pinfo) && begin_points()))
        smcr_capture_note_name(pinfo);
    return capture.state;
}

/* ---- sockets of a host, from the output of smcss ---- */

/* Reads a text such as "10.0.0.1:80" or "2001:db8::1:80" into a GID and a port. Changes the text.
 * Returns false if the text has another form. */
static bool
read_end(char *text, uint8_t gid[SMCR_GID_LENGTH], uint16_t *port)
{
    char *colon = strrchr(text, ':');
    ws_in4_addr ipv4;

    if (!colon || !ws_strtou16(colon + 1, NULL, port))
        return false;
    *colon = '\0';
    if (!ws_inet_pton4(text, &ipv4))
        return ws_inet_pton6(text, (ws_in6_addr *)(void *)gid);
    smcr_gid_map_ipv4(gid, &ipv4);
    return true;
}

/* The columns of smcss that are read, in the order of a line. A cursor column has two values: wrap
 * count and offset. */
static const char *const smcss_columns[] = {
    "State", "Local Address", "Peer Address", "Mode", "Token", "Rcvbuf", "Peerbuf",
    "rxprod-Cursor", "rxprod-Cursor", "rxcons-Cursor", "rxcons-Cursor", "txprod-Cursor",
    "txprod-Cursor", "txcons-Cursor", "txcons-Cursor", "Role", "Linkid", "GID", "Peer-GID"};

/* Number of values in the first part and in the second part of a line of smcss. */
#define SMCSS_SOCKET_VALUES 7
#define SMCSS_CURSOR_VALUES 8

/* The columns of a line that are texts; "": missing in the line. */
typedef struct {
    char state[16];               /* state of the socket: "ACTIVE" */
    char end[SMCR_TOLD_ENDS][64]; /* own end (0) and peer (1): "10.0.0.1:80" */
    char mode[6];                 /* what carries the data: "SMCR", "SMCD" or "TCP" */
    char role[5];                 /* role of the host in the link group: "SERV" or "CLNT" */
    char gid[SMCR_TOLD_ENDS][41]; /* own GID (0), peer's GID (1) */
} smcss_texts_t;

/* scan_socket(), scan_cursors() and scan_link() each scan one part of a line, from `line` on, and
 * return the number of values read. The first two functions move `line` to the end of their part if
 * they have read all values of this part. */
static int
scan_socket(const char **line, smcss_texts_t *texts, smcr_told_socket_t *told)
{
    int length = 0;
    int count = sscanf(*line, "%15s %*s %*s %63s %63s %*s %5s %*s %8x %*s %8x %8x%n",
                       texts->state, texts->end[0], texts->end[1], texts->mode, &told->token,
                       &told->size[0], &told->size[1], &length);

    *line += length;
    return MAX(count, 0);
}

/* Reads the four cursors in a line of smcss, and moves `*line` to their end. Returns the number
 * of values that were read; fewer than 8: a cursor is missing. */
static int
scan_cursors(const char **line, smcr_told_socket_t *told)
{
    int length = 0;
    int count = sscanf(*line, " %4hx:%8x %4hx:%8x %*s %4hx:%8x %4hx:%8x%n", &told->rx_prod.wrap,
                       &told->rx_prod.count, &told->rx_cons.wrap, &told->rx_cons.count,
                       &told->tx_prod.wrap, &told->tx_prod.count, &told->tx_cons.wrap,
                       &told->tx_cons.count, &length);

    *line += length;
    return MAX(count, 0);
}

/* Scans the last part of a line. Text after the last column counts as a further value. */
static int
scan_link(const char *line, smcss_texts_t *texts, smcr_told_socket_t *told)
{
    char more;
    int count = sscanf(line, " %*s %*s %*s %*s %4s %*s %*s %2hhx %40s %40s %c", texts->role,
                       &told->link_number, texts->gid[0], texts->gid[1], &more);

    return MAX(count, 0);
}

/* Returns the number of values in the line of smcss. If text follows the last column, the result is
 * one more than the number of values that a line has. */
static int
scan_line(const char *line, smcss_texts_t *texts, smcr_told_socket_t *told)
{
    int count = scan_socket(&line, texts, told);

    if (count == SMCSS_SOCKET_VALUES)
        count += scan_cursors(&line, told);
    if (count == SMCSS_SOCKET_VALUES + SMCSS_CURSOR_VALUES)
        count += scan_link(line, texts, told);
    return count;
}

/* The functions read_ends(), check_cursors() and read_link() each read or check some columns. Each
 * function returns the name of the first wrong column; NULL: all these columns are right. */
static const char *
read_ends(smcss_texts_t *texts, smcr_told_socket_t *told)
{
    if (!read_end(texts->end[0], told->address[0], &told->port[0]))
        return "Local Address";
    if (!read_end(texts->end[1], told->address[1], &told->port[1]))
        return "Peer Address";
    return strcmp(texts->mode, "SMCR") != 0 ? "Mode" : NULL;
}

/* Returns the name of the column with an impossible cursor; NULL: all are possible. A cursor has to
 * be below the size of its buffer. `rx_prod` and `tx_cons` are cursors in the socket's own RMB
 * (`size[0]`), `rx_cons` and `tx_prod` in the peer's (`size[1]`). */
static const char *
check_cursors(const smcr_told_socket_t *told)
{
    if (told->rx_prod.count >= told->size[0])
        return "rxprod-Cursor";
    if (told->rx_cons.count >= told->size[1])
        return "rxcons-Cursor";
    if (told->tx_prod.count >= told->size[1])
        return "txprod-Cursor";
    return told->tx_cons.count >= told->size[0] ? "txcons-Cursor" : NULL;
}

/* Reads role and GIDs of the link in a line of smcss. Returns the name of the first column that is
 * wrong; NULL: all are right. */
static const char *
read_link(const smcss_texts_t *texts, smcr_told_socket_t *told)
{
    told->is_server = strcmp(texts->role, "SERV") == 0;
    if (!told->is_server && strcmp(texts->role, "CLNT") != 0)
        return "Role";
    if (!ws_inet_pton6(texts->gid[0], (ws_in6_addr *)(void *)told->gid[0]))
        return "GID";
    return ws_inet_pton6(texts->gid[1], (ws_in6_addr *)(void *)told->gid[1]) ? NULL : "Peer-GID";
}

/* Whether the line describes no SMC-R connection. Such a line is a heading, an empty line, a socket
 * that listens or is closed, or a connection of TCP or SMC-D. */
static bool
is_other_line(const smcss_texts_t *texts)
{
    static const char *const states[] = {"", "State", "INIT", "CLOSED", "LISTEN", NULL};
    static const char *const modes[] = {"TCP", "SMCD", NULL};

    return g_strv_contains(states, texts->state) || g_strv_contains(modes, texts->mode);
}

/* Reads a line. Returns the column that is missing or wrong; "": the line has no SMC-R connection;
 * NULL: all columns are right. */
static const char *
read_line(const char *line, smcr_told_socket_t *told)
{
    smcss_texts_t texts = {.state = ""};
    int count = scan_line(line, &texts, told);

    if (is_other_line(&texts))
        return "";
    if (count < (int)array_length(smcss_columns))
        return smcss_columns[count];
    if (count > (int)array_length(smcss_columns))
        return "after Peer-GID";
    const char *wrong = read_ends(&texts, told);
    if (!wrong)
        wrong = check_cursors(told);
    return wrong ? wrong : read_link(&texts, told);
}

/* The state learns the socket in a line of the smcss file. Appends a message to `refused` if the
 * line is wrong, or if the state refuses the socket. */
static void
learn_line(smcr_state_t *state, const char *line, unsigned number, GString *refused)
{
    smcr_record_t record;
    smcr_arrival_t arrival = {.state = state, .record = &record};
    smcr_told_t told = {.u.socket = {.has_conn = true, .has_lgr = true, .is_from_file = true}};
    const char *wrong = read_line(line, &told.u.socket);

    smcr_record_begin(&record);
    if (!wrong)
        smcr_state_report(&arrival, &told);
    else if (*wrong)
        g_string_append_printf(refused, "\nLine %u: column %s is missing or wrong.", number, wrong);
    if (record.events)
        g_string_append_printf(refused, "\nLine %u: %s.", number, record.events->text);
}

/* Learns the sockets of the file in the preference `smcss`, and reports wrong lines to the user. */
static void
learn_smcss(smcr_state_t *state)
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
        learn_line(state, lines[at], at + 1, refused);
    if (refused->len)
        report_warning("SMC-R: %s is not the output of \"smcss -a -d -R -W\".%.500s", path,
                       refused->str);
    g_strfreev(lines);
    g_free(text);
    g_string_free(refused, TRUE);
}

/* ---- beginning and end ---- */

/* Called when a file is closed, and before another one is opened: forgets the state, which no
 * longer exists. */
static void
end_file(void)
{
    capture.state = NULL;
    capture.is_read = false;
    capture.last_frame = 0;
    capture.has_looked = false;
    memset(capture.names, 0, sizeof capture.names);
}

/* Called by Wireshark at the end of the first pass over the frames. */
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
smcr_capture_forget(uint32_t frame, const smcr_state_finished_t *finished)
{
    ws_assert(!capture.is_read);
    smcr_state_forget(capture.state, frame, finished);
}

void
smcr_capture_begin(void)
{
    end_file();
    smcr_capture_clock_begin();
    capture.state = smcr_state_new(wmem_file_scope());
    learn_smcss(capture.state);
}

/* A VLAN is named only if it certainly belongs to the packet: 0 for every doubt. */
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

/* Whether the program has windows, and all functions that the plugin's windows need. */
static bool
makes_windows(const funnel_ops_t *ops)
{
    bool has_text = ops->new_text_window && ops->set_text && ops->append_text;

    return has_text && ops->add_button && ops->new_dialog;
}

const funnel_ops_t *
smcr_host_window_ops(void)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();

    return ops && makes_windows(ops) ? ops : NULL;
}

uint32_t
smcr_host_windows_last_frame(void)
{
    return capture.last_frame;
}

/* Called by Wireshark for each frame, in programs with windows. Notes whether the frame comes for
 * the second time. */
static tap_packet_status
note_frame(void *listener _U_, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
           tap_flags_t flags _U_)
{
    capture.is_read = pinfo->num <= capture.last_frame;
    capture.last_frame = MAX(pinfo->num, capture.last_frame);
    return TAP_PACKET_DONT_REDRAW;
}

/* Registers the tap that follows the frames, in programs with windows. Later calls do nothing after
 * a call that succeeded. */
static void
listen_for_frames(void)
{
    if (capture.listens || !smcr_host_window_ops())
        return;
    GString *error = register_tap_listener("frame", &capture, NULL, TL_REQUIRES_NOTHING, NULL,
                                           note_frame, NULL, NULL);

    capture.listens = !error;
    if (error)
        g_string_free(error, TRUE);
}

void
smcr_capture_register(void)
{
    register_init_routine(smcr_capture_begin);
    register_init_routine(listen_for_frames);
    register_postseq_cleanup_routine(end_pass);
    register_cleanup_routine(end_file);
}
