/* The first bytes of messages. Recognises errors of HTTP/1 (RFC 9112, 4), TLS (RFC 5246, 7.2),
 * MySQL (ERR_Packet), PostgreSQL (ErrorResponse) and Redis (RESP simple errors). Each test needs
 * enough bytes that data of another kind hardly passes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "application.h"

#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether the message begins with the text. */
static bool
begins_with(const uint8_t *bytes, uint32_t length, const char *text)
{
    size_t needed = strlen(text);

    return length >= needed && memcmp(bytes, text, needed) == 0;
}

#define HTTP_STATUS 9 /* offset of the status code in "HTTP/1.1 404 " */

/* Returns the status code of a status line; 0: the message does not begin with one. */
static unsigned
http_status(const uint8_t *bytes, uint32_t length)
{
    if (!begins_with(bytes, length, "HTTP/1.") || length <= HTTP_STATUS + 3)
        return 0;
    const uint8_t *status = &bytes[HTTP_STATUS];
    if (status[3] != ' ')
        return 0;
    for (unsigned i = 0; i < 3; i++)
        if (!g_ascii_isdigit(status[i]))
            return 0;
    return (status[0] - '0') * 100U + (status[1] - '0') * 10U + (status[2] - '0');
}

/* Classes of status codes of HTTP that are errors (RFC 9110, 15): the first digit. */
enum { CLIENT_ERRORS = 4, SERVER_ERRORS = 5 };

/* A status line with a status code of 400 to 599. */
static bool
is_http_error(const uint8_t *bytes, uint32_t length)
{
    unsigned status = http_status(bytes, length);

    return status / 100 == CLIENT_ERRORS || status / 100 == SERVER_ERRORS;
}

#define TLS_ALERT "\x15\x03" /* type 21 of a TLS record, and version 3.x */

/* A TLS record with one alert of level "fatal": type 21, version 3.x, length 2, level 2. */
static bool
is_tls_alert(const uint8_t *bytes, uint32_t length)
{
    static const uint8_t alert[] = {0, 2, 2};

    return length >= 7 && begins_with(bytes, length, TLS_ALERT) &&
           memcmp(&bytes[3], alert, sizeof alert) == 0;
}

/* A packet of MySQL: length (3 bytes), number, 0xff, error code (2 bytes), '#', SQL state. */
static bool
is_mysql_error(const uint8_t *bytes, uint32_t length)
{
    return length >= 13 && bytes[4] == 0xff && bytes[7] == '#' && bytes[2] == 0;
}

/* A message of PostgreSQL: 'E', length (4 bytes), 'S' and the severity. */
static bool
is_postgresql_error(const uint8_t *bytes, uint32_t length)
{
    static const char *const severities[] = {"SERROR", "SFATAL", "SPANIC"};

    if (length < 12 || bytes[0] != 'E')
        return false;
    for (unsigned i = 0; i < G_N_ELEMENTS(severities); i++)
        if (memcmp(&bytes[5], severities[i], strlen(severities[i]) + 1) == 0)
            return true;
    return false;
}

/* A simple error of RESP: "-", a word of the server, a space. */
static bool
is_redis_error(const uint8_t *bytes, uint32_t length)
{
    static const char *const words[] = {"-ERR ",     "-WRONGTYPE ", "-NOAUTH ", "-WRONGPASS ",
                                        "-NOPERM ",  "-OOM ",       "-BUSY ",   "-LOADING ",
                                        "-READONLY ", "-MISCONF ",  "-NOSCRIPT "};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (begins_with(bytes, length, words[i]))
            return true;
    return false;
}

/* The errors, and the function that recognises each of them. */
static const struct {
    smcr_application_error_t error;
    bool (*is_error)(const uint8_t *bytes, uint32_t length);
} errors[] = {
    {{"HTTP status 400 or above", "http.response.code >= 400"}, is_http_error},
    {{"fatal TLS alert", "tls.alert_message.level == 2"}, is_tls_alert},
    {{"MySQL error", "mysql.error_code"}, is_mysql_error},
    {{"PostgreSQL error", "pgsql.severity"}, is_postgresql_error},
    {{"Redis error", "smcr.write && frame matches "
                    "\"-(ERR|WRONGTYPE|NOAUTH|WRONGPASS|NOPERM|OOM|BUSY|LOADING|READONLY|MISCONF|"
                    "NOSCRIPT) \""},
     is_redis_error},
};

const smcr_application_error_t *
smcr_application_error_of(const uint8_t *bytes, uint32_t length)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++)
        if (errors[i].is_error(bytes, length))
            return &errors[i].error;
    return NULL;
}

const smcr_application_error_t *
smcr_application_error_with_filter(const char *filter)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++)
        if (strcmp(errors[i].error.filter, filter) == 0)
            return &errors[i].error;
    return NULL;
}

void
smcr_application_name_answer(const uint8_t *bytes, uint32_t length,
                             char answer[SMCR_APPLICATION_ANSWER_LENGTH])
{
    static const struct {
        const char *begin; /* first bytes of the answer */
        const char *name;  /* name of what begins so */
    } answers[] = {{"HTTP/1.", "HTTP"},
                   {TLS_ALERT, "a TLS alert"},
                   {"SSH-", "an SSH greeting"},
                   {"220", "a greeting"}, /* of FTP and SMTP */
                   {"-ERR", "an error"}}; /* of Redis and POP3 */
    unsigned status = http_status(bytes, length);

    answer[0] = '\0';
    for (unsigned i = 0; i < G_N_ELEMENTS(answers); i++)
        if (begins_with(bytes, length, answers[i].begin))
            g_strlcpy(answer, answers[i].name, SMCR_APPLICATION_ANSWER_LENGTH);
    if (status)
        snprintf(answer, SMCR_APPLICATION_ANSWER_LENGTH, "HTTP %u", status);
}
