module setpoint/benchmarks/sites

go 1.24
