#include "packet-smcr.h"
void smcr_tcpopt_handoff(void) {}
