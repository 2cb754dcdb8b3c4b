"""Leader election on Leases, with client-go's rules."""
