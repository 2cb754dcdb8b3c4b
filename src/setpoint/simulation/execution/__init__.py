"""Carries out runs in forked processes, whose memory a fork server has prepared."""
