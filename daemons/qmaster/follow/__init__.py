"""What follows from a state by rule or by the clock: events, without anybody having asked."""
