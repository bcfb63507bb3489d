package rules

// BytesOf returns how many bytes a fact adds to the length of a history.
func BytesOf(f Fact) int { return f.about().bytes }
