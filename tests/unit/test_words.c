/* Numbers with their units, in whatever locale.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <locale.h>

#include "report/words/words.h"

#define MS UINT64_C(1000000) /* nanoseconds */
#define S (1000 * MS)

typedef const char *words_t(wmem_allocator_t *scope, uint64_t value);

static const struct {
    words_t *words;
    uint64_t value;
    const char *text;
} cases[] = {
    {.words = smcr_words_number, .text = "0"},
    {.words = smcr_words_number, .value = 999, .text = "999"},
    {.words = smcr_words_number, .value = 1000, .text = "1,000"},
    {.words = smcr_words_number, .value = 1234567, .text = "1,234,567"},
    {.words = smcr_words_bytes, .value = 1, .text = "1 byte"},
    {.words = smcr_words_bytes, .value = 99999, .text = "99,999 bytes"},
    {.words = smcr_words_bytes, .value = 100000, .text = "97.7 KiB"},
    {.words = smcr_words_bytes, .value = 1048576, .text = "1.0 MiB"},
    {.words = smcr_words_size, .value = 1023, .text = "1,023 B"},
    {.words = smcr_words_size, .value = 1048575, .text = "1.0 MiB"},
    {.words = smcr_words_size, .value = UINT64_C(3) << 30, .text = "3.0 GiB"},
    {.words = smcr_words_duration, .value = 850 * 1000, .text = "850 µs"},
    {.words = smcr_words_duration, .value = 4200 * 1000, .text = "4.2 ms"},
    {.words = smcr_words_duration, .value = 920 * MS, .text = "920 ms"},
    {.words = smcr_words_duration, .value = 1240 * MS, .text = "1.24 s"},
    {.words = smcr_words_duration, .value = 33400 * MS, .text = "33.4 s"},
    {.words = smcr_words_duration, .value = 630 * S, .text = "10 min 30 s"},
    {.words = smcr_words_duration, .value = 7260 * S, .text = "2 h 1 min"},
    {.words = smcr_words_duration, .value = 999600, .text = "1.0 ms"},
    {.words = smcr_words_duration, .value = 999600 * 1000, .text = "1.00 s"},
    {.words = smcr_words_duration, .value = 3599600 * MS, .text = "1 h 0 min"},
    {.words = smcr_words_duration, .value = 359999600 * MS, .text = "100 h"},
    {.words = smcr_words_moment, .text = "1970-01-01 00:00:00.000000 UTC"},
    {.words = smcr_words_moment, .value = 1795289647 * S + 646 * MS,
     .text = "2026-11-21 19:34:07.646000 UTC"},
};

static void
test_units(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(cases[i].words(scope, cases[i].value), ==, cases[i].text);
    g_assert_cmpstr(smcr_words_things(scope, 1, "packet"), ==, "1 packet");
    g_assert_cmpstr(smcr_words_things(scope, 0, "packet"), ==, "0 packets");
    g_assert_cmpstr(smcr_words_share(scope, 95, 100), ==, "95 %");
    g_assert_cmpstr(smcr_words_share(scope, 3, 1000), ==, "0.3 %");
    g_assert_cmpstr(smcr_words_share(scope, 1, 100000), ==, "below 0.1 %");
    g_assert_cmpstr(smcr_words_share(scope, 0, 7), ==, "0 %");
    wmem_destroy_allocator(scope);
}

static void
test_names(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_entry_connection_t conn;

    smcr_entry_clear(&conn, &smcr_entry_connection_description);
    conn.stream = 3;
    g_assert_cmpstr(smcr_words_connection(scope, &conn), ==, "connection 3");
    g_assert_cmpstr(smcr_words_direction(scope, &conn, false), ==, "connection 3 to the client");
    conn.ends = "10.0.0.2 ↔ 10.0.0.1";
    g_assert_cmpstr(smcr_words_connection(scope, &conn), ==, "connection 3");
    g_assert_cmpstr(smcr_words_direction(scope, &conn, true), ==, "connection 3 to 10.0.0.1");
    g_assert_cmpstr(smcr_words_direction(scope, &conn, false), ==, "connection 3 to 10.0.0.2");
    conn.client = (smcr_entry_endpoint_t){"fd00::1", 46464};
    conn.server = (smcr_entry_endpoint_t){"10.0.0.2", 8080};
    g_assert_cmpstr(smcr_words_connection(scope, &conn), ==, "[fd00::1]:46464 → 10.0.0.2:8080");
    g_assert_cmpstr(smcr_words_direction(scope, &conn, false), ==,
                    "10.0.0.2:8080 → [fd00::1]:46464");
    g_assert_cmpstr(smcr_words_connection_filter(scope, &conn), ==, "smcr.stream == 3");
    g_assert_cmpstr(smcr_words_clean(scope, "a\x1b[1m\tb\xff → c"), ==, "a?[1m?b\uFFFD → c");
    wmem_destroy_allocator(scope);
}

static void
test_decimals(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);

    g_assert_cmpstr(smcr_words_decimal(scope, -3.74, 1), ==, "-3.7");
    g_assert_cmpstr(smcr_words_decimal(scope, 0.0000127, 6), ==, "0.000013");
    g_assert_cmpstr(smcr_words_decimal(scope, 12, 0), ==, "12");
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "de_DE.UTF-8"); /* its decimal point is a comma; no matter if it is missing */
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/words/units", test_units);
    g_test_add_func("/words/names", test_names);
    g_test_add_func("/words/decimals", test_decimals);
    return g_test_run();
}
