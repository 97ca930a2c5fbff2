//go:build !clock

package main

import "time"

// wallTime is the wall clock. A tool that drills wrong clocks builds the program with another one.
var wallTime = time.Now
