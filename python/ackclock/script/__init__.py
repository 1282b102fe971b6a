"""Packet scripts in packetdrill's language, run against a simulated endpoint or this machine's kernel."""
