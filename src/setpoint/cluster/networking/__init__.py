"""Networking: the addresses behind Services, and load balancers."""
