"""
LLC messages that contradict the one they answer, or themselves, RFC 7609 A.3. TEST LINK: the
response repeats other user data, the next one comes after three seconds. DELETE RKEY responses: a
negative one marks an RKey that is not listed, a negative one marks none, one marks its RKey and is
not negative. CONFIRM RKEY: a request with the negative flag, a response that asks for a retry and
is not negative. DELETE LINK for all links names link 3.
"""

from smcsynth.llc import llc_confirm_rkey, llc_delete_link, llc_delete_rkey, llc_test_link
from smcsynth.story import linux_connection

RKEY, ADDRESS = 0x05002C01, 0xFFFF888207900000
FLAWS = ({"negative": True, "error_mask": 0x40}, {"negative": True}, {"error_mask": 0x80})


def scene(capture):
    connection = linux_connection(capture)
    connection.first_contact()
    group = connection.group
    group.llc("server", llc_test_link(user_data=b"one"))
    group.llc("client", llc_test_link(user_data=b"another", reply=True))
    group.llc("server", llc_test_link(user_data=b"slow"))
    capture.wait(3)
    group.llc("client", llc_test_link(user_data=b"slow", reply=True))
    for flaw in FLAWS:
        group.exchange("server", llc_confirm_rkey, rkey=RKEY, va=ADDRESS)
        group.llc("server", llc_delete_rkey(rkeys=[RKEY]))
        group.llc("client", llc_delete_rkey(rkeys=[RKEY], reply=True, **flaw))
    group.llc("server", llc_confirm_rkey(rkey=RKEY, va=ADDRESS, negative=True))
    group.llc("client", llc_confirm_rkey(rkey=RKEY, va=ADDRESS, retry=True, reply=True))
    connection.send("client", b"and on it goes\n")
    connection.close()
    group.llc("server", llc_delete_link(link=3, reason=0x00030000, all_links=True))
    group.llc("client", llc_delete_link(link=3, reason=0x00030000, all_links=True, reply=True))
