"""The audit log: requests with their users and results, by the rules of a policy."""
