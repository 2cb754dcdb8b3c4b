module setpoint/regexp

go 1.26.0
