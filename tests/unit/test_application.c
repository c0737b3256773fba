/* Errors in the protocols of applications: the first bytes of messages, and of messages that only
 * look like errors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include <glib.h>
#include <string.h>

#include "application/application.h"

typedef struct {
    const char *name;  /* name of the error; NULL: none */
    const char *bytes; /* first bytes of the message */
    uint32_t length;   /* number of bytes */
} row_t;

#define BYTES(text) .bytes = text, .length = sizeof(text) - 1

static const row_t rows[] = {
    {.name = "HTTP status 400 or above", BYTES("HTTP/1.1 404 Not Found\r\n")},
    {.name = "HTTP status 400 or above", BYTES("HTTP/1.0 503 Busy\r\n")},
    {.name = NULL, BYTES("HTTP/1.1 200 OK\r\n")},
    {.name = NULL, BYTES("HTTP/1.1 304 Not Modified\r\n")},
    {.name = NULL, BYTES("HTTP/1.1 4x4 ?\r\n")},
    {.name = NULL, BYTES("HTTP/1.1 404")},
    {.name = "fatal TLS alert", BYTES("\x15\x03\x03\x00\x02\x02\x28")},
    {.name = NULL, BYTES("\x15\x03\x03\x00\x02\x01\x00")}, /* warning: close_notify */
    {.name = NULL, BYTES("\x15\x03\x03\x00\x13\x02\x28")}, /* encrypted */
    {.name = "MySQL error", BYTES("\x17\x00\x00\x01\xff\x48\x04#HY000No")},
    {.name = NULL, BYTES("\x07\x00\x00\x01\x00\x48\x04#HY000No")}, /* OK_Packet */
    {.name = "PostgreSQL error", BYTES("E\x00\x00\x00\x66SERROR\x00VERROR\x00")},
    {.name = NULL, BYTES("E\x00\x00\x00\x66SNOTICE\x00V")},
    {.name = NULL, BYTES("Every message begins somehow")},
    {.name = "Redis error", BYTES("-ERR unknown command\r\n")},
    {.name = "Redis error", BYTES("-WRONGTYPE Operation\r\n")},
    {.name = NULL, BYTES("-ERROR of nobody\r\n")},
    {.name = NULL, BYTES("-ERR")},
    {.name = NULL, BYTES("")},
};

static void
check_rows(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        /* a copy of these bytes alone: AddressSanitizer sees a byte that is read beyond them */
        uint8_t *bytes = g_memdup(rows[i].bytes, rows[i].length);
        const smcr_application_error_t *error = smcr_application_error_of(bytes, rows[i].length);

        g_assert_cmpstr(error ? error->name : NULL, ==, rows[i].name);
        if (error)
            g_assert_true(smcr_application_error_with_filter(error->filter) == error);
        g_free(bytes);
    }
    g_assert_null(smcr_application_error_with_filter("smcr.nak"));
}

static const row_t answers[] = {
    {.name = "HTTP 400", BYTES("HTTP/1.1 400 Bad Request\r\n")},
    {.name = "HTTP 101", BYTES("HTTP/1.0 101 Switching\r\n")},
    {.name = "HTTP", BYTES("HTTP/1.1 40")},
    {.name = "HTTP", BYTES("HTTP/1.1 4x0 ")},
    {.name = "a TLS alert", BYTES("\x15\x03\x01")},
    {.name = "", BYTES("\x16\x03\x01")},
    {.name = "an SSH greeting", BYTES("SSH-2.0-OpenSSH_9.2\r\n")},
    {.name = "a greeting", BYTES("220 mail ESMTP\r\n")},
    {.name = "an error", BYTES("-ERR")},
    {.name = "", BYTES("")},
};

/* Returns a copy without room for more, so that AddressSanitizer finds each byte read too far. */
static uint8_t *
copy_of(const void *bytes, uint32_t length)
{
    uint8_t *copy = g_malloc(MAX(length, 1));

    memcpy(copy, bytes, length);
    return copy;
}

static void
check_answers(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(answers); i++) {
        uint8_t *bytes = copy_of(answers[i].bytes, answers[i].length);
        char answer[SMCR_APPLICATION_ANSWER_LENGTH] = "another answer";

        smcr_application_name_answer(bytes, answers[i].length, answer);
        g_assert_cmpstr(answer, ==, answers[i].name);
        g_free(bytes);
    }
}

typedef struct {
    uint16_t port;     /* 0: no protocol */
    bool by_server;
    const char *bytes; /* first bytes of the message */
    uint32_t length;   /* number of bytes */
} begin_t;

static const begin_t begins[] = {
    {.port = 3306, BYTES("\x09\0\0\0\x03SELECT 1")},
    {.port = 3306, BYTES("\x0b\0\0\0\x03\0\x01select 1")},
    {.port = 3306, BYTES("\x40\0\0\0\x16INSERT INTO t V")}, /* goes on in the next packet */
    {.port = 0, BYTES("\x09\0\0\x01\x03SELECT 1")},        /* number 1 */
    {.port = 0, BYTES("\x08\0\0\0\x03SELECT 1")},           /* longer than its header says */
    {.port = 0, BYTES("\x09\0\0\0\x03SELECTED")},
    {.port = 0, BYTES("\x09\0\0\0\x04SELECT 1")}, /* COM_FIELD_LIST */
    {.port = 3306, .by_server = true, BYTES("\x0d\0\0\0\x0a" "8.0.36\0\1\2\3\4\5")},
    {.port = 0, BYTES("\x0d\0\0\0\x0a" "a.0.36\0\1\2\3\4\5")},
    {.port = 5432, BYTES("Q\0\0\0\x0dSELECT 1\0")},
    {.port = 5432, BYTES("P\0\0\0\x12s1\0select $1\0\0\0B\0\0\0\x0c")},
    {.port = 5432, BYTES("\0\0\0\x15\0\3\0\0user\0postgres")},
    {.port = 5432, BYTES("\0\0\0\x08\x04\xd2\x16\x2f")},
    {.port = 0, BYTES("\0\0\0\x08\x04\xd2\x16\x2e")},
    {.port = 0, BYTES("Q\0\0\0\x0cSELECT 1\0")},
    {.port = 0, BYTES("P\0\0\0\x12s1select $1")},
    {.port = 0, BYTES("Questions: SELECT 1")},
    {.port = 6379, BYTES("*1\r\n$4\r\nPING\r\n")},
    {.port = 6379, BYTES("*12\r\n$7\r\nPUBLISH")},
    {.port = 0, BYTES("*1\r\n+4\r\nPING\r\n")},
    {.port = 0, BYTES("*\r\n$4\r\nPING")},
    {.port = 0, BYTES("*1\r\n$4")},
    {.port = 0, BYTES("*")},
    {.port = 0, BYTES("")},
};

static void
check_begins(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(begins); i++) {
        for (uint32_t length = 0; length <= begins[i].length; length++) {
            uint8_t *bytes = copy_of(begins[i].bytes, length);
            const smcr_application_protocol_t *found = smcr_application_protocol_of(bytes, length);

            if (length == begins[i].length) {
                g_assert_cmpuint(found ? found->port : 0, ==, begins[i].port);
                g_assert_true(!found || found->by_server == begins[i].by_server);
            }
            g_free(bytes);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/application/errors", check_rows);
    g_test_add_func("/application/answers", check_answers);
    g_test_add_func("/application/begins", check_begins);
    return g_test_run();
}
