package access

import "github.com/assaydata/assay"

// Event is what an event of the stream is about, as far as access depends on it.
type Event struct {
	Kind   assay.EventKind
	GPU    bool         // whether it is about the GPU index; else about Family
	Family assay.Family // of an observation, or of a correction that is not of the GPU index
	Paid   string       // the GPU or lab that it is about, if that is not free
	Hourly bool         // whether a correction is of an hourly value
	At     int64        // the instant that a value is about
}

// Sees reports whether callers of a tier get an event: if they may request what it says from the route that serves it.
// So an event shows no one more than requests do.
func Sees(tier assay.Tier, e Event, now int64) bool {
	rule, ask := e.request()
	_, err := Decide(rule, assay.Caller{Tier: tier}, ask, now)
	return err == nil
}

// request is what a caller would have to request to read the same, and by which rule.
func (e Event) request() (Rule, Ask) {
	switch e.Kind {
	case assay.PrintEvent, assay.HourEvent:
		return FullGrain, Ask{}
	case assay.DayEvent:
		return FreeGPU, Ask{Paid: e.Paid, HasStart: true, Start: e.At}
	case assay.PriceEvent:
		return FreeGPU, Ask{Paid: e.Paid}
	case assay.CorrectionEvent:
		if e.Hourly {
			return FullGrain, Ask{}
		}
		return Keyed, Ask{}
	case assay.ObservationEvent:
		return e.observation()
	case assay.NoticeEvent, assay.NumEventKinds:
	}
	return Public, Ask{}
}

func (e Event) observation() (Rule, Ask) {
	switch e.Family {
	case assay.FamilyModels:
		return FreeLab, Ask{Paid: e.Paid, HasStart: true, Start: e.At}
	case assay.FamilySites:
		return FullSites, Ask{}
	case assay.FamilyMemory, assay.FamilyCoding, assay.FamilyUtilization:
	}
	return Keyed, Ask{}
}

// AdmitEvents refuses a caller who asks for events of a kind that no caller of the tier gets.
func AdmitEvents(kind assay.EventKind, caller assay.Caller) error {
	switch kind {
	case assay.PrintEvent, assay.HourEvent:
		return Admit(FullGrain, caller)
	case assay.CorrectionEvent:
		return Admit(Keyed, caller)
	case assay.DayEvent, assay.PriceEvent, assay.ObservationEvent, assay.NoticeEvent, assay.NumEventKinds:
	}
	return nil
}

// AdmitFamily refuses a caller who asks for events of a family of which callers of the tier get none.
func AdmitFamily(family assay.Family, caller assay.Caller) error {
	switch family {
	case assay.FamilySites:
		return Admit(FullSites, caller)
	case assay.FamilyMemory, assay.FamilyCoding, assay.FamilyUtilization:
		return Admit(Keyed, caller)
	case assay.FamilyModels:
	}
	return nil
}

// AdmitGPU refuses a caller without a key who asks for events about a GPU that is not free.
func AdmitGPU(gpu assay.GPU, caller assay.Caller) error {
	if gpu.Free || caller.Tier != assay.Anonymous {
		return nil
	}
	return needsKey("key_required", gpu.Name)
}
