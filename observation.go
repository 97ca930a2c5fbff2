package assay

// Family names a data family: what sources report, and indices are computed from. Transactions are not among them.
type Family uint8

// The data families. Package registry has the definition of each but utilization, whose readings have a table of their
// own, because there are many more of them.
const (
	FamilyMemory Family = iota
	FamilyModels
	FamilyCoding
	FamilySites
	NumFamilies // the number of families that the registry defines, not a family

	FamilyUtilization = NumFamilies
)

var familyNames = [NumFamilies + 1]string{
	FamilyMemory: "memory", FamilyModels: "models", FamilyCoding: "coding", FamilySites: "sites",
	FamilyUtilization: "utilization",
}

// String returns the name that imports, the API and the database use.
func (f Family) String() string { return familyNames[f] }

// FamilyByName returns the family with the given name.
func FamilyByName(name string) (family Family, ok bool) {
	for i, known := range familyNames {
		if known == name {
			return Family(i), true
		}
	}
	return 0, false
}

// Observed is an observation of a family as it was received. Other content under the same key is a later revision.
type Observed[T any] struct {
	Value    T
	Key      string // identifies the observation within its family
	Revision int    // from 0
	Received int64  // when we learned of it; rises from batch to batch
}
