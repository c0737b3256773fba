"""Encoders and stories for synthetic SMC-R captures, written from RFC 7609 and independent of the
plugin's tables."""
