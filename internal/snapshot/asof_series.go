package snapshot

// touched returns the newest publication up to a version that changed the series, or 0 if there is none.
func (s *Series) touched(version int64) (newest int64) {
	if s.version <= version {
		return s.version
	}
	var p points
	for _, b := range s.blocks {
		switch {
		case b.newest <= version:
			newest = max(newest, b.newest)
		case b.oldest <= version:
			b.decodeVersions(&p)
			for _, v := range p.versions[:b.count] {
				if v <= version {
					newest = max(newest, v)
				}
			}
		}
	}
	for _, r := range s.hidden.Items() {
		if r.Version <= version {
			newest = max(newest, r.Version)
		}
	}
	return newest
}

// asOf returns the series as it was after a version that changed it, which was published at the instant modified.
func (s *Series) asOf(version, modified int64) *Series {
	if s.version <= version {
		return s
	}
	var old *builder
	if n, ok := s.grownFrom(version); ok {
		old = s.builder(n)
	} else {
		old = s.rebuilt(version)
	}
	series := old.series()
	series.version, series.modified = version, modified
	return series
}

// grownFrom reports whether the only change since a version is that points were added after the first n.
func (s *Series) grownFrom(version int64) (n int, ok bool) {
	if len(s.hidden.Items()) > 0 {
		return 0, false
	}
	var p points
	grown := false
	for _, b := range s.blocks {
		switch {
		case !grown && b.newest <= version:
			n += int(b.count)
			continue
		case b.oldest > version:
			grown = true
			continue
		}
		b.decodeVersions(&p)
		for _, v := range p.versions[:b.count] {
			if v > version {
				grown = true
			} else if grown {
				return 0, false
			} else {
				n++
			}
		}
	}
	return n, true
}
