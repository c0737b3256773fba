/* The first bytes of messages. Recognises errors of HTTP/1 (RFC 9112, 4), TLS (RFC 5246, 7.2),
 * MySQL (ERR_Packet), PostgreSQL (ErrorResponse) and Redis (RESP simple errors). Each test compares
 * so many bytes that data of another protocol passes it very rarely.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 * */

#include "application.h"

#include <glib.h>
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

/* Whether the message is a status line of HTTP/1 with a status code of 400 to 599. */
static bool
is_http_error(const uint8_t *bytes, uint32_t length)
{
    unsigned status = http_status(bytes, length);

    return status / 100 == CLIENT_ERRORS || status / 100 == SERVER_ERRORS;
}

#define TLS_ALERT "\x15\x03" /* type 21 of a TLS record, and version 3.x */

/* Whether the message is a TLS record with one alert of level "fatal": type 21, version 3.x, length
 * 2, level 2. */
static bool
is_tls_alert(const uint8_t *bytes, uint32_t length)
{
    static const uint8_t alert[] = {0, 2, 2};

    return length >= 7 && begins_with(bytes, length, TLS_ALERT) &&
           memcmp(&bytes[3], alert, sizeof alert) == 0;
}

/* Whether the message is an error packet of MySQL: length (3 bytes, below 65536), number, 0xff,
 * error code (2 bytes), '#', SQL state. */
static bool
is_mysql_error(const uint8_t *bytes, uint32_t length)
{
    return length >= 13 && bytes[4] == 0xff && bytes[7] == '#' && bytes[2] == 0;
}

/* Whether the message is an error of PostgreSQL: 'E', length (4 bytes), 'S' and the severity, one
 * of three. */
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

/* Whether the message is a simple error of RESP: "-", one of the error words of Redis, a space. */
static bool
is_redis_error(const uint8_t *bytes, uint32_t length)
{
    static const char *const words[] = {"-ERR ",     "-WRONGTYPE ", "-NOAUTH ", "-WRONGPASS ",
                                        "-NOPERM ",  "-OOM ",       "-BUSY ",   "-LOADING ",
                                        "-READONLY ", "-MISCONF ",  "-NOSCRIPT "};

    if (!length || bytes[0] != '-')
        return false;
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (begins_with(bytes, length, words[i]))
            return true;
    return false;
}

/* The errors, and the function that recognises each of them. */
static const struct {
    smcr_application_error_t error; /* the error */
    /* whether the message reports this error; arguments as in smcr_application_error_of() */
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

/* If several rows of the table fit, the last one counts. If the answer has a status code of HTTP,
 * the code replaces the name of the row. */
void
smcr_application_name_answer(const uint8_t *bytes, uint32_t length,
                             char answer[SMCR_APPLICATION_ANSWER_LENGTH])
{
    static const struct {
        const char *begin; /* first bytes of the answer */
        const char *name;  /* name of the answer that begins with these bytes */
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

/* ---- protocols of databases and caches ---- */

/* Whether the text begins with a statement of SQL. */
static bool
is_sql(const uint8_t *bytes, uint32_t length)
{
    static const char *const words[] = {"SELECT ", "INSERT ", "UPDATE ", "DELETE ", "SET ",
                                        "SHOW ",   "BEGIN",   "COMMIT",  "CREATE ", "START ",
                                        "CALL ",   "WITH ",   "DROP ",   "ALTER "};

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (length >= strlen(words[i]) &&
            g_ascii_strncasecmp((const char *)bytes, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

#define MYSQL_HEADER 4         /* length (3 bytes) and number of a packet */
#define MYSQL_QUERY 3          /* command COM_QUERY */
#define MYSQL_PREPARE 22       /* command COM_STMT_PREPARE */
#define MYSQL_ATTRIBUTES "\0\1" /* MySQL 8, before the text of a query: number of query attributes
                                   (0), and number of sets of attributes (1) */

/* Returns the length in the header of a packet of MySQL. */
static uint32_t
mysql_length(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
}

/* Whether the message is a packet of MySQL with number 0, the command COM_QUERY or
 * COM_STMT_PREPARE, and the beginning of a statement of SQL. The captured bytes must not be longer
 * than the header says. */
static bool
is_mysql_query(const uint8_t *bytes, uint32_t length)
{
    const uint8_t *text = &bytes[MYSQL_HEADER + 1];

    if (length < 12 || bytes[3] != 0 || mysql_length(bytes) < length - MYSQL_HEADER)
        return false;
    if (bytes[MYSQL_HEADER] != MYSQL_QUERY && bytes[MYSQL_HEADER] != MYSQL_PREPARE)
        return false;
    uint32_t skipped = memcmp(text, MYSQL_ATTRIBUTES, 2) == 0 ? 2 : 0;
    return is_sql(text + skipped, length - (MYSQL_HEADER + 1) - skipped);
}

/* Whether the message is the greeting of a MySQL server: a packet with number 0, version 10 of the
 * protocol, and the version of the server: "8.0.36". */
static bool
is_mysql_greeting(const uint8_t *bytes, uint32_t length)
{
    bool is_greeting = length >= 12 && bytes[3] == 0 && bytes[MYSQL_HEADER] == 10;

    return is_greeting && mysql_length(bytes) == length - MYSQL_HEADER &&
           g_ascii_isdigit(bytes[5]) && memchr(&bytes[6], '.', 2);
}

/* Returns the number of 32 bits at `bytes`, in network byte order. */
static uint32_t
number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

#define POSTGRESQL_HEADER 5           /* type of a message (1 byte), then its length (4 bytes) */
#define POSTGRESQL_LENGTH_MOST (1 << 24) /* a longer message with a statement is unlikely */

/* Whether the message is a Query of PostgreSQL: 'Q', the length, which does not count the 'Q', and
 * a statement. The captured bytes may be only the beginning of the message. */
static bool
is_postgresql_query(const uint8_t *bytes, uint32_t length)
{
    if (length < 8 || bytes[0] != 'Q')
        return false;
    uint32_t named = number_at(&bytes[1]);
    bool is_whole = named == length - 1;
    bool is_beginning = named > length - 1 && named < POSTGRESQL_LENGTH_MOST;
    return (is_whole || is_beginning) &&
           is_sql(&bytes[POSTGRESQL_HEADER], length - POSTGRESQL_HEADER);
}

/* Whether the message is a Parse of PostgreSQL: 'P', the length, the name of the statement, which
 * ends with a zero, and the statement. Other messages may follow. */
static bool
is_postgresql_parse(const uint8_t *bytes, uint32_t length)
{
    if (length < 8 || bytes[0] != 'P')
        return false;
    uint32_t named = number_at(&bytes[1]);
    const uint8_t *name_end = memchr(&bytes[POSTGRESQL_HEADER], 0, length - POSTGRESQL_HEADER);
    if (!name_end || named <= 8 || named >= POSTGRESQL_LENGTH_MOST)
        return false;
    const uint8_t *statement = name_end + 1;
    return is_sql(statement, length - (uint32_t)(statement - bytes));
}

#define POSTGRESQL_3_0 0x30000     /* version of the protocol, PostgreSQL 7.4 and later */
#define POSTGRESQL_TLS 80877103    /* request for TLS, in place of a version */

/* Whether the message is the first one of a PostgreSQL client: its length, version 3.0 and "user";
 * or the length 8 and the request for TLS. */
static bool
is_postgresql_startup(const uint8_t *bytes, uint32_t length)
{
    if (length < 8 || number_at(bytes) != length)
        return false;
    if (length == 8)
        return number_at(&bytes[4]) == POSTGRESQL_TLS;
    return number_at(&bytes[4]) == POSTGRESQL_3_0 && begins_with(&bytes[8], length - 8, "user");
}

/* Returns how many bytes a length in RESP takes: `mark`, a number and the end of line. 0: the bytes
 * do not begin with a length. */
static uint32_t
resp_length(const uint8_t *bytes, uint32_t length, char mark)
{
    uint32_t end = 1;

    if (length < 4 || bytes[0] != mark)
        return 0;
    while (end < length && end < 8 && g_ascii_isdigit(bytes[end]))
        end++;
    return end > 1 && begins_with(&bytes[end], length - end, "\r\n") ? end + 2 : 0;
}

/* Whether the message is a command of Redis: an array that begins with a text. */
static bool
is_redis_command(const uint8_t *bytes, uint32_t length)
{
    uint32_t array = resp_length(bytes, length, '*');

    return array && resp_length(&bytes[array], length - array, '$');
}

/* The first row whose test is true decides. A test must not read more than `length` bytes. */
const smcr_application_protocol_t *
smcr_application_protocol_of(const uint8_t *bytes, uint32_t length)
{
    static const struct {
        smcr_application_protocol_t protocol; /* the protocol */
        /* whether the bytes prove the protocol; arguments as in smcr_application_protocol_of() */
        bool (*is_message)(const uint8_t *bytes, uint32_t length);
    } protocols[] = {{{3306, false}, is_mysql_query},
                     {{3306, true}, is_mysql_greeting},
                     {{5432, false}, is_postgresql_query},
                     {{5432, false}, is_postgresql_parse},
                     {{5432, false}, is_postgresql_startup},
                     {{6379, false}, is_redis_command}};

    for (unsigned i = 0; i < G_N_ELEMENTS(protocols); i++)
        if (protocols[i].is_message(bytes, length))
            return &protocols[i].protocol;
    return NULL;
}
