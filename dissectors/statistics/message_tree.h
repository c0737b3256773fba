/* message_tree.h
 * The stats tree of messages: by type, version, direction and outcome.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_MESSAGE_TREE_H
#define SMCR_STATISTICS_MESSAGE_TREE_H

/* Called once, after all protocols have registered: sharkd then has the tree, too. */
void smcr_statistics_message_tree_handoff(void);

#endif /* SMCR_STATISTICS_MESSAGE_TREE_H */
