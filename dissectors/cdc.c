/* cdc.c (being written)
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "cdc.h"
#include "layout.h"
#include <string.h>
void
smcr_cdc_register_layouts(void)
{
}
void
smcr_cdc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_cdc_t *cdc)
{
    memset(cdc, 0, sizeof *cdc);
    proto_tree_add_item(tree, proto_smcr, tvb, 0, -1, ENC_NA);
    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
}
