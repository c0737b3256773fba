/* Sockets as <linux/smc_diag.h> and smcss have them. Sizes and cursors are mostly small numbers of
 * kilobytes, so that they meet; some are extremes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "told.h"

#include <stdarg.h>
#include <unistd.h>

#include <glib.h>
#include <wsutil/report_message.h>

#include "frames.h"
#include "session.h"

#define CURSORS 4 /* rx_prod, rx_cons, tx_prod, tx_cons */
#define LINE_LENGTH 1024

enum { NLMSG = 16, DIAG = 64, CONN = 80, LGRINFO = 147, NLA = 4, DUMP = 20, DONE = 3 };
enum { GID_TEXT = 40 };

typedef struct {
    uint16_t wrap;
    uint32_t count;
} cursor_t;

typedef struct {
    bool server;
    uint16_t ports[2]; /* own, peer's */
    uint32_t token, sizes[2];
    cursor_t cursors[CURSORS];
} socket_t;

/* A frame in the making, in the order of its host. */
typedef struct {
    uint8_t bytes[1400];
    uint32_t length;
    bool big;
} frame_t;

static FILE *file;
static unsigned generation;

/* ---- what is told ---- */

static uint32_t
take_token(input_t *input)
{
    static const uint32_t tokens[] = {0xa1, 0xb1, 5, 6, 7}; /* the first two are those of CLC */
    unsigned which = input_pick(input, 6);

    return which < array_length(tokens) ? tokens[which] : input_extreme(input);
}

static cursor_t
take_cursor(input_t *input)
{
    uint8_t how = input_byte(input);

    if (how & 0x80)
        return (cursor_t){(uint16_t)input_extreme(input), input_extreme(input)};
    return (cursor_t){how & 3, (uint32_t)(how >> 2) << 10};
}

static socket_t
take_socket(input_t *input)
{
    uint8_t how = input_byte(input);
    socket_t told = {.server = how & 1, .token = take_token(input)};

    for (unsigned end = 0; end < 2; end++) {
        told.ports[end] = told.server == !end ? 80 : (uint16_t)(40000 + (how >> 1 & 3));
        told.sizes[end] = how & (0x10 << end) ? input_extreme(input) : 16384;
    }
    for (unsigned i = 0; i < CURSORS; i++)
        told.cursors[i] = take_cursor(input);
    return told;
}

/* The GID of the host's device, as the kernel prints it. */
static void
print_gid(char text[GID_TEXT], bool server)
{
    snprintf(text, GID_TEXT, "0000:0000:0000:0000:0000:ffff:0a%02x:%02x%02x",
             generation >> 8 & 0xff, generation & 0xff, 1U + server);
}

/* ---- netlink ---- */

static void
add(frame_t *frame, unsigned length, uint32_t number, bool big)
{
    for (unsigned i = 0; i < length; i++)
        frame->bytes[frame->length++] = (uint8_t)(number >> 8 * (big ? length - 1 - i : i));
}

static void
add_host(frame_t *frame, unsigned length, uint32_t number)
{
    add(frame, length, number, frame->big);
}

static void
add_text(frame_t *frame, unsigned length, const char *text)
{
    memcpy(frame->bytes + frame->length, text, strlen(text));
    frame->length += length;
}

static void
add_header(frame_t *frame, uint32_t length, uint16_t type, uint8_t dump)
{
    add_host(frame, 4, NLMSG + length);
    add_host(frame, 2, type);
    add_host(frame, 2, 2); /* one of several */
    add_host(frame, 4, dump);
    add_host(frame, 4, 99);
}

static void
add_address(frame_t *frame, bool server)
{
    add(frame, 1, 20, true);
    add(frame, 2, generation, true);
    add(frame, 1, 1U + server, true);
    frame->length += 12;
}

static void
add_conn(frame_t *frame, const socket_t *told)
{
    add_host(frame, 2, NLA + CONN);
    add_host(frame, 2, 1);
    add_host(frame, 4, told->token);
    for (unsigned i = 0; i < 3; i++)
        add_host(frame, 4, told->sizes[i / 2]);
    for (unsigned i = 0; i < CURSORS; i++) {
        frame->length += 2;
        add_host(frame, 2, told->cursors[i].wrap);
        add_host(frame, 4, told->cursors[i].count);
    }
    frame->length += CONN - 16 - CURSORS * 8;
}

static void
add_socket(frame_t *frame, const socket_t *told, uint8_t dump)
{
    char gid[GID_TEXT];

    add_header(frame, DIAG + NLA + CONN + NLA + LGRINFO + 1, DUMP, dump);
    add(frame, 4, 43U << 24 | 1U << 16, true);
    add(frame, 2, told->ports[0], true);
    add(frame, 2, told->ports[1], true);
    add_address(frame, told->server);
    add_address(frame, !told->server);
    frame->length += DIAG - 40;
    add_conn(frame, told);
    add_host(frame, 2, NLA + LGRINFO);
    add_host(frame, 2, 2);
    add(frame, 1, 1, true);
    add_text(frame, 65, "rxe0");
    for (unsigned end = 0; end < 2; end++) {
        print_gid(gid, told->server == !end);
        add_text(frame, GID_TEXT, gid);
    }
    add(frame, 2, (uint32_t)told->server << 8, true);
}

void
told_send_answers(input_t *input)
{
    static const uint8_t cooked[] = {0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4};
    uint8_t how = input_byte(input), cut = how & 0x80 ? input_byte(input) : 0;
    frame_t frame = {.length = sizeof cooked, .big = how & 0x40};

    memcpy(frame.bytes, cooked, sizeof cooked);
    for (unsigned count = how & 3; count > 1; count--) {
        socket_t told = take_socket(input);
        add_socket(&frame, &told, how >> 2 & 3);
    }
    if ((how & 3) < 2 || how & 0x20) {
        add_header(&frame, 4, DONE, how >> 2 & 3);
        frame.length += 4;
    }
    session_frame(frame.bytes, frame.length > cut ? frame.length - cut : 1, frame.length);
}

/* ---- CDC ---- */

void
told_send_message(input_t *input)
{
    bool server = input_byte(input) & 1;
    uint8_t message[44] = {0xfe, sizeof message, 0, 1};
    frame_t frame = {.big = true};

    add(&frame, 4, take_token(input), true);
    for (unsigned i = 0; i < 2; i++) {
        cursor_t cursor = take_cursor(input);
        add(&frame, 4, cursor.wrap, true);
        add(&frame, 4, cursor.count, true);
    }
    add(&frame, 2, input_byte(input), true);
    memcpy(message + 4, frame.bytes, frame.length);
    frames_roce_packet(server, 4, 0, (input_t){message, sizeof message}, 0);
}

/* ---- smcss ---- */

static void
ignore(const char *format _U_, va_list arguments _U_)
{
}

void
told_start(void)
{
    static const struct report_message_routines routines = {.vreport_failure = ignore,
                                                            .vreport_warning = ignore};
    char preference[64];

    init_report_message("fuzz", &routines);
    file = tmpfile();
    require(file != NULL);
    snprintf(preference, sizeof preference, "smcr.smcss:/proc/self/fd/%d", fileno(file));
    session_prefer(preference);
}

static void
print_line(char line[LINE_LENGTH], const socket_t *told)
{
    const cursor_t *c = told->cursors;
    const unsigned high = generation >> 8 & 0xff, low = generation & 0xff;
    char gids[2][GID_TEXT];

    for (unsigned end = 0; end < 2; end++)
        print_gid(gids[end], told->server == !end);
    snprintf(line, LINE_LENGTH,
             "ACTIVE 00000 0010830 20.%u.%u.%u:%u 20.%u.%u.%u:%u 0000 SMCR <-> %08x %08x %08x %08x "
             "%04x:%08x %04x:%08x 00:00 %04x:%08x %04x:%08x 00:00 0000:0 0000:0 0000:0 %s rxe0 01 "
             "01 %s %s\n",
             high, low, 1U + told->server, told->ports[0], high, low, 2U - told->server,
             told->ports[1], told->token, told->sizes[0], told->sizes[0], told->sizes[1], c[0].wrap,
             c[0].count, c[1].wrap, c[1].count, c[2].wrap, c[2].count, c[3].wrap, c[3].count,
             told->server ? "SERV" : "CLNT", gids[0], gids[1]);
}

/* A line is as smcss prints it, or the input puts bytes into it. */
void
told_write_file(input_t *input, unsigned number)
{
    uint8_t how = input_byte(input);

    generation = number;
    require(ftruncate(fileno(file), 0) == 0);
    rewind(file);
    for (unsigned count = how & 3; count > 0; count--) {
        char line[LINE_LENGTH] = "";
        if (how & (4 << count)) {
            socket_t told = take_socket(input);
            print_line(line, &told);
        }
        size_t length = strlen(line);
        if (how & 4) {
            size_t at = input_byte(input);
            input_t bytes = input_part(input, input_byte(input));
            memcpy(line + MIN(at, length), bytes.bytes, bytes.left);
            length = MAX(length, MIN(at, length) + bytes.left);
        }
        require(fwrite(line, 1, length, file) == length);
    }
    fflush(file);
}
