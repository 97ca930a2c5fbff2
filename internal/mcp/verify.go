package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/assaydata/assay/internal/web"
	"github.com/assaydata/assay/verifier"
)

// verification is the result of verify_value.
type verification struct {
	Verified   bool            `json:"verified"`
	Reason     string          `json:"reason,omitempty"` // why it is not
	CheckedBy  string          `json:"checked_by"`
	Checked    []string        `json:"checked"`
	NotChecked []string        `json:"only_you_can_check"`
	LogKey     string          `json:"log_key"`
	KeyFrom    string          `json:"log_key_from"`
	Checkpoint *checkpointView `json:"checkpoint"`
	Proof      json.RawMessage `json:"proof"`
	ProofURL   string          `json:"proof_url"`
	Synthetic  bool            `json:"synthetic,omitempty"`
}

type checkpointView struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   string `json:"root"`
}

// steps are those that a proof takes, all of which have been taken if it is one.
var steps = []string{
	"the hash in the record is that of its text",
	"the entry of the log names this record",
	"the entry is in the tree of the checkpoint",
	"the log's key has signed the checkpoint",
}

// limitsOfProof are what no single response can prove.
var limitsOfProof = []string{
	"that the key of the log is the operator's: compare log_key with what the operator publishes elsewhere",
	"that the log has not been rewritten: keep this checkpoint, and compare it with a later one (/api/log/consistency), " +
		"or run assay monitor",
	"that everyone sees the same log: require witnesses' signatures",
	"that the transactions were as the record says: recompute an exported bundle with assay verify",
}

var verifyOutput = encode(object{
	"type":     "object",
	"required": []string{"verified", "checked_by", "checked", "only_you_can_check", "log_key", "log_key_from", "proof"},
	"properties": object{
		"verified":           object{"type": "boolean", "description": "Whether the record of the value is proven."},
		"reason":             object{"type": "string", "description": "Why it is not."},
		"checked_by":         object{"type": "string", "description": "Who has checked: the server, or the user's computer."},
		"checked":            listOfTexts("The steps that were taken and succeeded."),
		"only_you_can_check": listOfTexts("What remains for the reader."),
		"log_key":            object{"type": "string", "description": "The key that the signature was checked with."},
		"log_key_from":       object{"type": "string", "description": "Whether the user or the server has named it."},
		"checkpoint": object{
			"anyOf":       []object{{"type": "object"}, {"type": "null"}},
			"description": "The signed state of the log that includes the record.",
		},
		"proof": object{
			"type":        "object",
			"description": "The response with the record (data) and the proof that the log has it (inclusion).",
		},
		"proof_url": object{"type": "string", "description": "Where to get it byte for byte, with the same key."},
		"synthetic": added["synthetic"],
	},
})

func listOfTexts(about string) object {
	return object{"type": "array", "items": object{"type": "string"}, "description": about}
}

// verifyValue proves a value, as far as one response can.
func (s *service) verifyValue(
	ctx context.Context, t *tool, given arguments,
) (result, problem json.RawMessage, err error) {
	r := t.choose(given)
	values, err := r.read(t.name, given)
	if err != nil {
		return nil, nil, err
	}
	address := target(r.path, values)
	found, problem, err := s.get(ctx, address, 0, false)
	if err == nil && problem == nil && !json.Valid(found.whole()) {
		err = unreachable(errTooLong)
	}
	if err != nil || problem != nil {
		return nil, problem, err
	}
	v := &verification{
		CheckedBy: s.CheckedBy, Checked: []string{}, NotChecked: limitsOfProof, Proof: found.whole(),
		ProofURL: s.Source.Base(ctx) + address, Synthetic: found.synthetic,
	}
	keys, from, err := s.logKeys(ctx)
	v.LogKey, v.KeyFrom = strings.Join(keys, ", "), from
	if err != nil {
		v.Reason = err.Error()
	} else {
		v.prove(r, keys)
	}
	return encode(v), nil, nil
}

// logKeys returns the keys of the log, and who has named them.
func (s *service) logKeys(ctx context.Context) (keys []string, from string, err error) {
	if len(s.LogKeys) > 0 {
		return s.LogKeys, "the user", nil
	}
	key, problem, err := s.get(ctx, "/log/vkey", 0, false)
	if problem != nil {
		var body web.ErrorBody
		if err = json.Unmarshal(problem, &body); err == nil {
			err = errors.New(body.Message)
		}
	}
	if err != nil {
		return nil, "the server", fmt.Errorf("the key of the log: %w", err)
	}
	return []string{strings.TrimSpace(string(key.whole()))}, "the server", nil
}

// prove takes the steps of the proof.
func (v *verification) prove(r *route, keys []string) {
	log, err := verifier.NewLog(keys[0], keys[1:]...)
	var c verifier.Checkpoint
	switch {
	case err != nil:
	case len(r.when) > 0:
		_, c, err = log.CheckValueRecord(v.Proof)
	default:
		_, c, err = log.CheckRecord(v.Proof)
	}
	if err != nil {
		v.Reason = err.Error()
		if errors.Is(err, verifier.ErrNotLogged) {
			v.Reason += "; ask again in a minute"
		}
		return
	}
	v.Verified, v.Checked = true, steps
	v.Checkpoint = &checkpointView{c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:])}
}
