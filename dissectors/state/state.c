#include "messages.h"
int smcr_state_placeholder(void);
int smcr_state_placeholder(void){return 0;}
