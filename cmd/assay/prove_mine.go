package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/files"
	"github.com/assaydata/assay/internal/ingest"
	"github.com/assaydata/assay/internal/proof"
	"github.com/assaydata/assay/internal/store"
	"github.com/assaydata/assay/verifier"
)

// submissionFile is a proof that transactions are in the log, as a file.
type submissionFile struct {
	verifier.Submission
	GPUs    []string `json:"gpus"` // of the catalog: a file of transactions is read with it
	Regions []string `json:"regions"`
}

func newProveMineCommand(s *streams) *cobra.Command {
	config := importConfig{format: "csv"}
	var out string
	cmd := &cobra.Command{
		Use:   "prove-mine FILE…",
		Short: "Prove to a provider that its transactions are in",
		Long: `Prove to a provider that all transactions of its files were received and are in
the log, and write the proof. It shows nothing of other providers. The provider
checks it against its own files, without the database:

  assay verify --mine mine.json trades.csv --public-key KEY

Transactions that are not in the log are listed, and the exit code is then 1.`,
		Example: "  assay prove-mine trades.csv --dir data --out mine.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || out == "" {
				return usagef("name the provider's files, and the file for the proof in --out")
			}
			config.arguments = args
			return proveMine(cmd.Context(), &config, out, s)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write the proof to")
	cmd.Flags().StringVar(&config.source, "source", "", "`NAME` of the source for rows that do not name one")
	config.registerFileOptions(cmd)
	config.location.register(cmd.Flags(), defaultFolder)
	return cmd
}

func proveMine(ctx context.Context, config *importConfig, out string, s *streams) error {
	return withDatabase(ctx, config.location, func(db *store.DB) error {
		catalog, err := db.Catalog(ctx)
		if err != nil {
			return err
		}
		list, err := config.readTransactions(ctx, catalog)
		if err != nil {
			return err
		}
		submission, missing, err := db.ProveTransactions(ctx, list)
		if errors.Is(err, store.ErrNotInCheckpoint) {
			return fmt.Errorf("%w: try again in ten minutes, or run 'assay publish'", err)
		}
		if err != nil {
			return err
		}
		file := submissionFile{Submission: submission, Regions: catalog.Regions}
		for _, g := range catalog.GPUs {
			file.GPUs = append(file.GPUs, g.Name)
		}
		text, err := json.Marshal(file)
		if err != nil {
			return err
		}
		if err := files.Replace(out, text); err != nil {
			return err
		}
		s.say("proven: %s of %s", thousands(len(list)-len(missing)), count(len(list), "transaction"))
		return missingTransactions(list, missing, s)
	})
}

// missingTransactions reports transactions that are not in the log.
func missingTransactions(list []assay.Transaction, missing []int, s *streams) error {
	const shown = 20
	for _, i := range missing[:min(len(missing), shown)] {
		s.note("not in the log: %s of %s, %s", list[i].ID, list[i].Source, assay.FormatInstant(list[i].ExecutedAt))
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not in the log as the files have them: %s", count(len(missing), "transaction"))
}

// readTransactions reads files of transactions without importing them.
func (c *importConfig) readTransactions(
	ctx context.Context, catalog assay.Catalog,
) (list []assay.Transaction, err error) {
	input, err := findFiles(c.arguments)
	if err != nil {
		return nil, err
	}
	reader := ingest.Transactions(ingest.Options{
		Catalog: catalog, Source: c.source, NotAfter: func() int64 { return assay.Latest }, FileOptions: c.fileOptions,
	})
	for _, name := range input.files {
		f, err := files.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		more, err := reader.Read(ctx, name, f)
		list = append(list, more...)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// maxSubmission is more than the proof of a year of a large provider.
const maxSubmission = 1 << 30

// verifyMine checks the proof of prove-mine against files of transactions.
func verifyMine(
	ctx context.Context, config *importConfig, name, receipts string, accepted [][]byte, s *streams,
) error {
	text, err := files.Read(ctx, name, maxSubmission)
	if err != nil {
		return err
	}
	var file submissionFile
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	log, err := logOf(&file.Submission, accepted)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	proven, c, err := log.CheckSubmission(&file.Submission)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	catalog := assay.Catalog{Regions: file.Regions}
	for _, gpu := range file.GPUs {
		catalog.GPUs = append(catalog.GPUs, assay.GPU{Name: gpu})
	}
	list, err := config.readTransactions(ctx, catalog)
	if err != nil {
		return err
	}
	var missing []int
	for i := range list {
		t := &list[i]
		received, ok := proven[verifier.Digest(proof.Transaction(t))]
		if !ok || received.Provider != t.Provider || t.Evidence != assay.Unstated && received.Mark != proof.Mark(t) {
			missing = append(missing, i)
		}
	}
	if receipts != "" {
		if err := checkReceipts(ctx, log, config.arguments, receipts, s); err != nil {
			return err
		}
	}
	s.say("proven: %s of %s, in the first %s entries of the log %s", thousands(len(list)-len(missing)),
		count(len(list), "transaction"), thousands(int(c.Size)), c.Origin)
	return missingTransactions(list, missing, s)
}

// logOf is the log of a proof, as it is checked with accepted keys or, without any, with those that the proof names.
func logOf(s *verifier.Submission, accepted [][]byte) (*verifier.Log, error) {
	keys, err := verifier.ReadKeys(s.Log, s.Keys)
	if err != nil {
		return nil, err
	}
	if len(accepted) == 0 {
		for _, e := range keys.Events() {
			accepted = append(accepted, e.PublicKey)
		}
	}
	var texts []string
	for _, key := range accepted {
		text, err := proof.VerifierKey(s.Log, ed25519.PublicKey(key))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil, errors.New("it names no key: give the log's in --public-key")
	}
	log, err := verifier.NewLog(texts[0], texts[1:]...)
	if err != nil {
		return nil, err
	}
	return log.Follow(s.Keys)
}

// checkReceipts checks that there is a receipt for each of the files, and says what it promises.
func checkReceipts(ctx context.Context, log *verifier.Log, names []string, receipts string, s *streams) error {
	text, err := files.Read(ctx, receipts, maxSubmission)
	if err != nil {
		return err
	}
	promised := map[string]verifier.Receipt{} // by the sum of the file
	for line := range strings.Lines(string(text)) {
		r, err := log.CheckReceipt(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("%s: %w", receipts, err)
		}
		promised[r.FileSHA256] = r
	}
	input, err := findFiles(names)
	if err != nil {
		return err
	}
	for _, name := range input.files {
		sum, err := sumOfFile(ctx, name)
		if err != nil {
			return err
		}
		r, ok := promised[hex.EncodeToString(sum)]
		if !ok {
			return fmt.Errorf("%s: there is no receipt for this file in %s", name, receipts)
		}
		s.say("%s: the operator has promised %s of import %d in a checkpoint by %s, without %s", name,
			count(int(r.Accepted), "row"), r.Import, r.InCheckpointBy, count(len(r.RejectedLines), "rejected row"))
	}
	return nil
}

func sumOfFile(ctx context.Context, name string) ([]byte, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum, err := sumFile(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return sum.hash.Sum(nil), nil
}
