/* A text ends where its array does, between two characters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include <glib.h>

#include "show/quick_text.h"

#define GUARD 0x55

static void
put_text(smcr_quick_text_t *text)
{
    smcr_quick_text_put(text, "46464 \u2192 8080 \U0001f600");
    smcr_quick_text_put(text, "x");
}

static void
put_least(smcr_quick_text_t *text)
{
    smcr_quick_text_put_number(text, "", 0);
    smcr_quick_text_put_seconds(text, 0);
    smcr_quick_text_put_qpn(text, "", 0);
}

static void
put_most(smcr_quick_text_t *text)
{
    smcr_quick_text_put_number(text, "", UINT32_MAX);
    smcr_quick_text_put(text, " ");
    smcr_quick_text_put_seconds(text, UINT64_MAX);
    smcr_quick_text_put_qpn(text, " ", 0xffffff);
}

static void
put_others(smcr_quick_text_t *text)
{
    smcr_quick_text_put(text, "");
    smcr_quick_text_put_number(text, "", 1020);
    smcr_quick_text_put_seconds(text, 1000200000);
    smcr_quick_text_put_qpn(text, "", 0x000101);
}

static const struct {
    const char *name;
    void (*put)(smcr_quick_text_t *text);
    const char *whole;
} texts[] = {
    {.name = "text", .put = put_text, .whole = "46464 \u2192 8080 \U0001f600x"},
    {.name = "least", .put = put_least, .whole = "00.0000000000x000000"},
    {.name = "most", .put = put_most, .whole = "4294967295 18446744073.709551615 0xffffff"},
    {.name = "others", .put = put_others, .whole = "10201.0002000000x000101"},
};

/* A text that is cut has the characters of the whole that fit. */
static void
check_cut(const char *text, const char *whole, size_t size)
{
    const char *end = g_utf8_find_prev_char(whole, whole + size);
    char *fitting = g_strndup(whole, (size_t)(end - whole));

    g_assert_cmpstr(text, ==, fitting);
    g_free(fitting);
}

/* Each text in arrays of all sizes: the bytes behind the array stay as they are. */
static void
test_sizes(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    size_t longest = strlen(texts[i].whole) + 1;

    for (size_t size = 1; size <= longest + 2; size++) {
        char array[64];
        memset(array, GUARD, sizeof array);
        smcr_quick_text_t text = smcr_quick_text_begin(array, size);
        texts[i].put(&text);
        g_assert_true(text.end < array + size && *text.end == '\0');
        g_assert_cmpuint((size_t)(text.end - array), ==, strlen(array));
        for (size_t at = size; at < sizeof array; at++)
            g_assert_cmpint(array[at], ==, GUARD);
        if (size >= longest)
            g_assert_cmpstr(array, ==, texts[i].whole);
        else
            check_cut(array, texts[i].whole, size);
    }
}

/* Bytes that are no characters are left out where they do not fit. */
static void
test_not_utf8(void)
{
    char array[3];
    smcr_quick_text_t text = SMCR_QUICK_TEXT(array);

    smcr_quick_text_put(&text, "\x80\x80\x80\x80");
    g_assert_cmpstr(array, ==, "");
}

/* Nothing is added behind what was cut, even if there is room for it. */
static void
test_cut_is_the_end(void)
{
    char array[6];
    smcr_quick_text_t text = SMCR_QUICK_TEXT(array);

    smcr_quick_text_put(&text, "abc\U0001f600");
    smcr_quick_text_put(&text, "d");
    g_assert_cmpstr(array, ==, "abc");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        char *path = g_strdup_printf("/quick_text/%s", texts[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_sizes);
        g_free(path);
    }
    g_test_add_func("/quick_text/not UTF-8", test_not_utf8);
    g_test_add_func("/quick_text/cut is the end", test_cut_is_the_end);
    return g_test_run();
}
