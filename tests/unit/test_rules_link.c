/* Rules of links that no capture shows well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

static smcr_llc_t
confirm_link(int side, uint8_t number)
{
    smcr_ib_qp_key_t own = qp_of_side(side);
    smcr_llc_t llc = {.type = SMCR_LLC_CONFIRM_LINK,
                      .flags = side == CLIENT ? SMCR_LLC_FLAG_RESPONSE : 0,
                      .u.confirm_link = {.qpn = own.qpn, .link = number}};

    memcpy(llc.u.confirm_link.gid, own.gid, SMCR_GID_LENGTH);
    return llc;
}

/* The response repeats the number of the request: smcr.llc.not_echoed tells it, once. That of a
 * response without a request is the announced one: smcr.link.mismatch. */
static void
test_number_of_response(void)
{
    capture_t capture;

    capture_open(&capture);
    first_contact(&capture);
    play_llc(&capture, SERVER, confirm_link(SERVER, 1));
    g_assert_cmpstr(events(&capture), ==, "");
    play_llc(&capture, CLIENT, confirm_link(CLIENT, 3));
    g_assert_cmpstr(events(&capture), ==, "llc_not_echoed link_active");
    play_llc(&capture, CLIENT, confirm_link(CLIENT, 3));
    g_assert_cmpstr(events(&capture), ==, "llc_unrequested link_mismatch");
    capture_close(&capture);
}

/* In a capture that has the response first, the request is not to blame for it. */
static void
test_number_of_request(void)
{
    capture_t capture;

    capture_open(&capture);
    first_contact(&capture);
    play_llc(&capture, CLIENT, confirm_link(CLIENT, 3));
    play_llc(&capture, SERVER, confirm_link(SERVER, 1));
    g_assert_cmpstr(events(&capture), ==, "");
    capture_close(&capture);
}

/* What the client sends before its response breaks the rule. */
static void
test_first_packet(void)
{
    for (unsigned confirmed = 0; confirmed < 2; confirmed++) {
        capture_t capture;
        capture_open(&capture);
        first_contact(&capture);
        if (confirmed)
            confirm_first_link(&capture);
        play_llc(&capture, CLIENT, (smcr_llc_t){.type = SMCR_LLC_TEST_LINK});
        g_assert_cmpstr(events(&capture), ==, confirmed ? "" : "link_before_confirm");
        capture_close(&capture);
    }
}

/* The first captured packet has another PSN than its sender announced. Any number of packets may be
 * missing before it, but none before CONFIRM LINK. */
static void
test_first_psn(void)
{
    const uint32_t psns[] = {CLIENT_PSN, CLIENT_PSN + 100, CLIENT_PSN + 200000, CLIENT_PSN - 1};

    for (unsigned i = 0; i < G_N_ELEMENTS(psns); i++)
        for (unsigned confirms = 0; confirms < 2; confirms++) {
            capture_t capture;
            capture_open(&capture);
            first_contact(&capture);
            play_llc_on(&capture, HOST(CLIENT), qp_of_side(SERVER), psns[i],
                        confirms ? confirm_link(CLIENT, 1)
                                 : (smcr_llc_t){.type = SMCR_LLC_TEST_LINK});
            g_assert_cmpint(strstr(events(&capture), "psn_wrong") != NULL, ==,
                            confirms && i >= 2);
            capture_close(&capture);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rules/link/number of response", test_number_of_response);
    g_test_add_func("/rules/link/number of request", test_number_of_request);
    g_test_add_func("/rules/link/first packet", test_first_packet);
    g_test_add_func("/rules/link/first PSN", test_first_psn);
    return g_test_run();
}
