"""Packet scripts in packetdrill's language, against a simulated endpoint or the machine's own kernel."""
