"""What others are told of what happened: records, letters, notices, stories."""
