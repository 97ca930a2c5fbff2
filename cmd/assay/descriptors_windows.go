package main

import "math"

// descriptorLimit is how many files and connections this process may have open at a time: Windows sets no limit.
func descriptorLimit() int { return math.MaxInt32 }
