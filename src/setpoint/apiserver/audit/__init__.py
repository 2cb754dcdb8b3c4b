"""The audit log: requests with their users and results, logged according to a policy."""
