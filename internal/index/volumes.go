package index

import (
	"slices"
	"strings"

	"github.com/assaydata/assay"
)

// StatesEvidence tells whether the volumes of a record are of transactions with evidence. The class of those without
// any comes first.
func StatesEvidence(volumes string) bool {
	_, classes, _ := strings.Cut(volumes, `"by_evidence":{`)
	return strings.Contains(classes, ":") && (!strings.HasPrefix(classes, `"unstated":`) || strings.Contains(classes, ","))
}

// volumes adds up GPU-hours by source and by evidence. It reuses its memory.
type volumes struct {
	sources []uint128 // by number; 0 between slots
	used    []int32   // numbers of the slot's sources
	sorted  []uint128 // their volumes
	text    []byte
	last    string
}

// noVolumes is the text for a slot in which nothing counted.
const noVolumes = `{"by_source":[],"by_evidence":{}}`

// of is the text in a record. Sources have no names there, because records are public: they are in the order of their
// volumes, the largest first. Evidence is in the order of its classes.
func (v *volumes) of(list []counted, sources int) string {
	var evidence [assay.NumEvidence]uint128
	if more := sources - len(v.sources); more > 0 {
		v.sources = append(v.sources, make([]uint128, more)...)
	}
	v.used, v.sorted = v.used[:0], v.sorted[:0]
	for i := range list {
		c := &list[i]
		weight := uint128{lo: c.weight}
		source := &v.sources[c.source]
		if *source == (uint128{}) {
			v.used = append(v.used, c.source)
		}
		source.add(weight)
		evidence[c.evidence].add(weight)
	}
	for _, number := range v.used {
		v.sorted = append(v.sorted, v.sources[number])
		v.sources[number] = uint128{}
	}
	slices.SortFunc(v.sorted, func(a, b uint128) int { return b.compare(a) })
	v.write(evidence[:])
	if string(v.text) != v.last { // often the same for a region and the world
		v.last = string(v.text)
	}
	return v.last
}

// write writes the text.
func (v *volumes) write(evidence []uint128) {
	v.text = append(v.text[:0], `{"by_source":[`...)
	for i, volume := range v.sorted {
		if i > 0 {
			v.text = append(v.text, ',')
		}
		v.text = assay.AppendMicros(v.text, volume.clamped())
	}
	v.text = append(v.text, `],"by_evidence":{`...)
	begin := len(v.text)
	for class, volume := range evidence {
		if volume == (uint128{}) {
			continue
		}
		if len(v.text) > begin {
			v.text = append(v.text, ',')
		}
		v.text = append(assay.AppendString(v.text, assay.Evidence(class).String()), ':')
		v.text = assay.AppendMicros(v.text, volume.clamped())
	}
	v.text = append(v.text, "}}"...)
}
