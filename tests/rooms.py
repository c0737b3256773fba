"""The rooms of dissectors/, and who includes whom."""

from bed import TOP

DISSECTORS = TOP / "dissectors"

# From the bottom up. A room includes only the doors of rooms that come before it; the head of the first door says what the
# room knows. The field table lies between; the entries, at the top of dissectors/, come last.
ROOMS = {
    "wire": ("wire.h",),
    "fabric": ("fabric.h",),
    "fabric/peers": ("peers.h",),
    "state/model": ("store.h", "record.h"),
    "state/rules": ("rules.h",),
    "state/rules/links": ("links.h",),
    "state/flow": ("intake.h", "clc_flow.h", "cost.h", "foreign.h", "orphan.h", "tcp_flow.h"),
    "state": ("state.h",),
    "message": ("message.h",),
    "host": ("host.h",),
    "show": ("show.h",),
    "payload": ("payload.h",),
    "packet": ("packet.h",),
    "tcp": ("tcp.h",),
    "roce": ("roce.h",),
    "report/figures": ("figures.h",),
    "report/words": ("words.h",),
    "report/findings": ("findings.h",),
    "report/collect": ("collection.h", "stream_bytes.h"),
    "report/write": ("output.h",),
    "report/listen": ("listeners.h",),
    "report/tables": ("tables.h",),
    "report": ("report.h",),
    "statistics": ("statistics.h",),
}
