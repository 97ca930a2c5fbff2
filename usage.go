package assay

// Usage is how often a key called a route with one outcome on one day.
type Usage struct {
	Day      int64 // midnight UTC
	KeyID    string
	Route    string // its path, with the names of what callers choose: /api/gpu/{gpuName}
	Status   int
	Requests int64
}
