package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/family"
	"github.com/assaydata/assay/internal/index"
	"github.com/assaydata/assay/internal/store"
)

func newNoticeCommand(s *streams) *cobra.Command {
	return parentCommand(&cobra.Command{
		Use:   "notice COMMAND",
		Short: "Tell readers what happens to the index",
		Long: `Tell readers what happens to the index. Notices are public, at /api/notices and
in the log, and cannot be taken back. The publisher adds its own: of a day that
has no value, or that a fallback of the methodology has determined. So does
assay methodology adopt.`,
		Example: `  assay notice post "The office is closed on Friday." --approver committee
  assay notice cease "H100 SXM" --at 2027-01-01T21:00:00Z --approver committee \
    --reason "too few rentals"
  assay notice list`,
	}, newNoticePostCommand(s), newNoticeCeaseCommand(s), newNoticeResumeCommand(s), newNoticeListCommand(s))
}

// noticeFlags are those of a command that publishes a notice.
type noticeFlags struct {
	location databaseLocation
	approver string
}

// complete adds the flags, and lets make the notice. A GPU must be in the catalog.
func (f *noticeFlags) complete(cmd *cobra.Command, s *streams, notice func(args []string) (assay.Notice, error)) {
	cmd.Flags().StringVar(&f.approver, "approver", "", "`NAME` of who has approved the notice")
	f.location.register(cmd.Flags(), defaultFolder)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := notice(args)
		if err != nil {
			return err
		}
		if n.Approver = f.approver; f.approver == "" {
			return usagef("a notice needs --approver")
		}
		if err := family.CheckText("--approver", f.approver); err != nil {
			return usagef("%v", err)
		}
		return withMethodologies(cmd.Context(), f.location, func(db *store.DB, schedule index.Schedule) error {
			return publishNotice(cmd.Context(), db, n, schedule.At(wallTime().UnixMilli()).Notice, s)
		})
	}
}

func publishNotice(ctx context.Context, db *store.DB, n assay.Notice, notice time.Duration, s *streams) error {
	if as := "GPU"; n.GPU != "" {
		if n.Kind == assay.MessageNotice {
			as = "--gpu"
		}
		if err := checkGPU(ctx, db, as, n.GPU); err != nil {
			return err
		}
	}
	number, err := db.AddNotice(ctx, n, notice)
	if err == nil {
		s.say("published: notice %d", number)
	}
	return err
}

// maxNoticeText is how many bytes a text may have.
const maxNoticeText = 2000

func checkNoticeText(name, text string) error {
	if strings.TrimSpace(text) == "" {
		return usagef("%s is required", name)
	}
	if err := family.CheckTextUpTo(name, text, maxNoticeText); err != nil {
		return usagef("%v", err)
	}
	return nil
}

func newNoticePostCommand(s *streams) *cobra.Command {
	var flags noticeFlags
	var gpu string
	cmd := &cobra.Command{
		Use:     "post TEXT",
		Short:   "Publish a message to readers",
		Example: `  assay notice post "The office is closed on Friday." --approver committee`,
		Args:    arguments("TEXT"),
	}
	flags.complete(cmd, s, func(args []string) (assay.Notice, error) {
		n := assay.Notice{Kind: assay.MessageNotice, GPU: gpu, Text: args[0]}
		return n, checkNoticeText("TEXT", n.Text)
	})
	cmd.Flags().StringVar(&gpu, "gpu", "", "`NAME` of the GPU that it is about (default: all)")
	return cmd
}

func newNoticeCeaseCommand(s *streams) *cobra.Command {
	var flags noticeFlags
	var at int64
	var reason string
	cmd := &cobra.Command{
		Use:   "cease GPU",
		Short: "Announce the end of a GPU's series",
		Long: `Announce that the series of a GPU end: the last hour and the last day that are
published end at or before --at. It must lie after everything that is published,
and as far ahead as the methodology asks for (governance.notice). History stays
readable and provable. Transactions can still be imported, and do not count.
A source that delivers nothing else any more must not stay expected: see
assay source forget.`,
		Example: `  assay notice cease "H100 SXM" --at 2027-01-01T21:00:00Z --approver committee \
    --reason "too few rentals"`,
		Args: arguments("GPU"),
	}
	flags.complete(cmd, s, func(args []string) (n assay.Notice, err error) {
		if at == 0 {
			return n, usagef("--at is required: when the series end")
		}
		n = assay.Notice{Kind: assay.CessationNotice, GPU: args[0], About: at}
		n.Text = fmt.Sprintf("The series of %s end at %s: %s", n.GPU, assay.FormatInstant(at), reason)
		return n, checkNoticeText("--reason", reason)
	})
	addInstantFlag(cmd.Flags(), &at, "at", "`INSTANT` at which the series end")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why; everyone can read it")
	return cmd
}

func newNoticeResumeCommand(s *streams) *cobra.Command {
	var flags noticeFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "resume GPU",
		Short: "Announce that a GPU's series do not end, or continue",
		Long: `Announce that the series of a GPU, whose end was announced, do not end, or
continue where they ended, with the transactions received since.`,
		Example: `  assay notice resume "H100 SXM" --approver committee --reason "new sources"`,
		Args:    arguments("GPU"),
	}
	flags.complete(cmd, s, func(args []string) (assay.Notice, error) {
		n := assay.Notice{Kind: assay.ResumptionNotice, GPU: args[0]}
		n.Text = fmt.Sprintf("The series of %s continue: %s", n.GPU, reason)
		return n, checkNoticeText("--reason", reason)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why; everyone can read it")
	return cmd
}

// listedNotice is a notice in assay notice list.
type listedNotice struct {
	Number   int64    `json:"number"`
	At       instant  `json:"at"`
	Kind     string   `json:"kind"`
	GPU      string   `json:"gpu_name"`
	Region   string   `json:"region"`
	About    *instant `json:"about"`
	Text     string   `json:"text"`
	Actor    string   `json:"actor"`
	Approver string   `json:"approver"`
}

func newNoticeListCommand(s *streams) *cobra.Command {
	var location databaseLocation
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the notices, oldest first",
		Example: "  assay notice list --dir data\n  assay notice list --dir data --json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabase(cmd.Context(), location, func(db *store.DB) error {
				notices, err := db.Notices(cmd.Context(), 0, math.MaxInt64)
				if err != nil {
					return err
				}
				var rows []listedNotice
				for _, n := range notices {
					row := listedNotice{
						Number: n.Number, At: instant(n.At), Kind: string(n.Kind), GPU: n.GPU, Region: n.Region, Text: n.Text,
						Actor: n.Actor, Approver: n.Approver,
					}
					if n.About != 0 {
						about := instant(n.About)
						row.About = &about
					}
					rows = append(rows, row)
				}
				if asJSON {
					return printJSONList(s.out, rows)
				}
				for _, r := range rows {
					fmt.Fprintf(s.out, "%-6d %s  %-11s %s (%s)\n", r.Number, r.At, r.Kind, r.Text, cmp.Or(r.Approver, "publisher"))
				}
				return nil
			})
		},
	}
	location.register(cmd.Flags(), defaultFolder)
	addJSONFlag(cmd, &asJSON)
	return cmd
}
