"""
One prefix, one room: what a header of dissectors/ declares begins with a word of its room, so that
who reads a name knows where it lives. docs/architecture.md has the table of the words.
"""

import re
import subprocess

from bed import TOP
from rooms import DISSECTORS, ROOMS, tags
from test_modules import twice, types

# A word also stands for its plural. `clc()` is a word of functions only. A room within a room has
# the words of that room, too. "." is the top of dissectors/.
WORDS = {
    "wire": (
        "bsize cause cdc clc cursor gid ground ib llc mask mtu rc rd rtoken time told uc ud "
        "verdict wire xrc"
    ),
    "fabric": (
        "ack completion ecn flow icrc id psn range read response seen sent slab sorted step "
        "traffic unacked when"
    ),
    "points": "chain clock compare compared fate fates judge observed points transmission",
    "fabric/peers": "cm port_pair rdma",
    "state": "state sender",
    "state/model": (
        "arrival conn event exchange fallback held join lgr link list place point qp record ring "
        "rmb socket stream"
    ),
    "state/evidence": "doubt evidence",
    "state/rules": "breach rules",
    "state/rules/links": "",
    "state/flow/writes": "cost orphan window write",
    "state/flow/tapped": "tapped",
    "state/flow/told": "",
    "state/flow": "outcome",
    "timeline": "interval timeline",
    ".": "dissector field value",
    "message": "cdc() clc() item keep layout llc() message row say",
    "host": "capture endpoint gate handshake heuristic hook host preferences selected translation"
    " udp_port",
    "show": "analysis annotate generated info quick_text show tap",
    "payload": "decode export follow payload pieces policy",
    "packet": "packet",
    "tcp": "tcp",
    "roce": "roce",
    "application": "application",
    "netlink": "netlink",
    "anck": "anck",
    "report/histogram": "histogram",
    "report/packed": "packed",
    "report/figures": "distribution entry figure",
    "report/series": "series",
    "report/words": "words",
    "report/findings": "finder finding",
    "report/findings/finder": "",
    "report/collect": "collect collection",
    "report/collect/connections": "",
    "report/collect/assembly": "",
    "report/congestion": "congestion",
    "report/others": "others",
    "report/classes": "classes",
    "report/pause": "pause",
    "report/points": "way ways",
    "report/recovery": "recovery",
    "report/adapters": "adapters",
    "report/write": "page json text",
    "report/lines": "lines",
    "report/page": "html",
    "report/listen": "listener",
    "report/tables": "table",
    "report": "report",
    "statistics": "arrow conversation graph statistics",
}
# The field table's, named as Wireshark names them; the rows of tables of layouts and of columns.
OTHERS = {
    ".": r"(?:hf|ett|ei|proto)_smcr(?:_\w+)?",
    "message": "(?:SHOW|KEEP)(?:_[A-Z_]+)?|BITS|TEXT|BODY",
}
FUNCTIONS = (
    "function",
    "prototype",
    "variable",
)  # an X macro's `body_t smcr_clc_accept;` declares a function


def parents(room):
    """The room, and those that it lies in."""
    return [room[:at] for at in range(len(room) + 1) if room[at : at + 1] in ("", "/")]


def words_of(room):
    return [word for each in parents(room) for word in WORDS.get(each, "").split()]


def begins(name, word, kind):
    """Whether a name without its smcr_ begins with the word."""
    return (not word.endswith("()") or kind in FUNCTIONS) and re.match(
        word.removesuffix("()") + "s?(?:_|$)", name, re.I
    )


def strangers(found):
    """Of (room, kind, name): those whose words are not their room's. The longest word of all
    decides."""
    wrong = []
    for room, kind, name in sorted(found):
        short = re.match(r"smcr_(\w+)|SMCR_(\w+)", name)
        short = short and (short[1] or short[2])
        longest = {
            word: len(word)
            for each in WORDS
            for word in WORDS[each].split()
            if short and begins(short, word, kind)
        }
        best = [word for word in longest if longest[word] == max(longest.values())]
        if not set(best) & set(words_of(room)) and not re.fullmatch(OTHERS.get(room, ""), name):
            wrong.append((room, name))
    return wrong


def public(folder):
    """(room, kind, name) of all that the headers in a copy of dissectors/ declare, X macros
    expanded."""
    headers = [path for path in sorted(folder.rglob("*.h")) if path.name != "compat.h"]
    everything = folder / "everything.c"
    everything.write_text("".join(f'#include "{path.relative_to(folder)}"\n' for path in headers))
    (folder / "expanded.h").write_text(expand(folder, everything))
    alive = set(re.findall(r"^#define (\w+)", cpp(folder, "-dM", everything), re.M))
    found = tags("--line-directives=yes", "--kinds-C=tsugepxvf", folder / "expanded.h")
    macros = [tag for tag in tags("--kinds-C=d", *headers) if tag["name"] in alive]
    forward = {
        tag["name"]: room_in(folder, tag) for tag in found if tag["kind"] in ("struct", "union")
    }
    for tag in found + macros:
        struct = tag.get("typeref", "").removeprefix(
            "struct:"
        )  # a typedef belongs where its struct is
        yield forward.get(struct, room_in(folder, tag)), tag["kind"], tag["name"]


def room_in(folder, tag):
    return DISSECTORS.joinpath(tag["path"]).relative_to(folder).parent.as_posix()


def cpp(folder, *arguments):
    return subprocess.run(
        ["cc", "-E", "-I", folder, *arguments], capture_output=True, text=True, check=True
    ).stdout


def expand(folder, source):
    """Preprocessed; what a .def makes counts as its includer's."""
    lines, includers = [], []
    for line in cpp(folder, source).splitlines():
        marker = re.match(r'# (\d+) "([^"]+)"(.*)', line)
        if marker and " 1" in marker[3]:
            includers.append(marker[2] if not marker[2].endswith(".def") else includers[-1])
        elif marker and " 2" in marker[3]:
            includers.pop()
        lines.append(f'# {marker[1]} "{includers[-1]}"' if marker and includers else line)
    return "\n".join(lines)


def copy(folder):
    """The headers and tables, without those of the system, which have names of their own."""
    for path in DISSECTORS.rglob("*"):
        if path.suffix in (".h", ".def"):
            target = folder / path.relative_to(DISSECTORS)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                re.sub(r"^\s*#\s*include <.*", "", path.read_text(encoding="utf-8"), flags=re.M)
            )
    (folder / "compat.h").write_text("")
    return folder


def test_strangers_are_found(tmp_path):
    """A name of each kind in the wrong room, and beside it one in its own."""
    (tmp_path / "tcp").mkdir()
    (tmp_path / "wire").mkdir()
    (tmp_path / "wire" / "list.def").write_text("V(SMCR_RC_LISTED)\nV(SMCR_TCP_LISTED)\n")
    (tmp_path / "wire" / "a.h").write_text(
        """
#define V(name) name,
enum smcr_cdc_one {
#include "list.def"
};
#undef V
void smcr_clc_function(void);
typedef struct { int x; } smcr_clc_t;
"""
    )
    (tmp_path / "tcp" / "b.h").write_text(
        """
#define SMCR_TCP_MACRO 1
#define SMCR_MACRO 1
#define BARE 1
typedef struct smcr_clc smcr_clc_t;
struct smcr_tcps { int clc; };
enum smcr_kinds { SMCR_TCP_KIND, SMCR_KIND };
extern int smcr_tcp_data, smcr_data;
extern int smcr_tcpdata;
void smcr_tcp_function(int smcr_parameter);
void smcr_function(void);
static inline int smcr_tcp(void) { int smcr_local = 1; return smcr_local; }
static inline int smcr_inline(void) { return 1; }
"""
    )
    names = [name for _, name in strangers(set(public(tmp_path)))]
    assert sorted(names) == sorted(
        [
            "BARE",
            "SMCR_KIND",
            "smcr_kinds",
            "smcr_data",
            "smcr_tcpdata",
            "smcr_inline",
            "SMCR_MACRO",
            "smcr_function",
            "smcr_clc_t",
            "SMCR_TCP_LISTED",
            "smcr_clc_function",
        ]
    )


def test_one_prefix_one_room(tmp_path):
    found = set(public(copy(tmp_path)))
    assert len(found) > 2000, "the headers declare nothing?"
    assert strangers(found) == []
    shorts = [(kind, re.sub(r"^smcr_", "", name, flags=re.I)) for _, kind, name in found]
    unused = [
        word
        for room in WORDS
        for word in WORDS[room].split()
        if not any(begins(name, word, kind) for kind, name in shorts)
    ]
    assert unused == []


def test_no_type_has_the_name_of_another():
    """Those of one file neither."""
    assert twice(types(*DISSECTORS.rglob("*.[ch]"))) == []


def test_a_word_has_one_room():
    words = [word for room in WORDS for word in WORDS[room].split()]
    assert sorted({word for word in words if words.count(word) > 1}) == []
    assert set(WORDS) == {".", *ROOMS}


def test_architecture_lists_the_words():
    text = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = dict(
        re.findall(
            r"^\| (?:`([\w/]+)/`|\(top\)) \| (.*) \|$",
            text.split("| room | words |")[1].split("\n\n")[0],
            re.M,
        )
    )
    assert {
        room or ".": " ".join(re.findall(r"`([\w()]+)`", words)) for room, words in rows.items()
    } == WORDS
