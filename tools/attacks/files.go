//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

const transactionsHeader = "id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n"

func openFiles(ctx context.Context, s *site) (effect, error) {
	folder, err := s.folder("open")
	if err != nil {
		return effect{}, err
	}
	file, err := s.write("open.csv", transactionsHeader+
		"1,review,2026-01-02T09:15:00Z,H100 SXM,us-east,2.35,8,24,Alder,true\n")
	if err != nil {
		return effect{}, err
	}
	if err := s.initialize(ctx, nil, folder); err != nil {
		return effect{}, err
	}
	if _, err := s.command(ctx, nil, "", "import", "transactions", "--dir", folder, file); err != nil {
		return effect{}, err
	}
	info, err := os.Stat(filepath.Join(folder, "assay.db"))
	if err != nil {
		return effect{}, err
	}
	mode := info.Mode().Perm()
	return harmIf(mode&0o077 != 0, "`assay.db` has mode %04o", mode), nil
}

func (s *site) write(name, text string) (string, error) {
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func passwordFolder(ctx context.Context, s *site) (effect, error) {
	const password = "open-sesame"
	got, err := s.command(ctx, []string{"ASSAY_STORE=host=db password=" + password}, "", "key", "list")
	if err != nil {
		return effect{}, err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return effect{}, err
	}
	for _, entry := range entries {
		if strings.Contains(entry.Name(), password) {
			return harmIf(true, "a folder is named after the password"), nil
		}
	}
	if strings.Contains(got.output, password) {
		return harmIf(true, "refused; the message shows the password"), nil
	}
	return harmIf(got.success, "refused; the message does not show the password"), nil
}

func endlessBundle(ctx context.Context, s *site) (effect, error) {
	bundle := filepath.Join(s.dir, "bundle")
	today := time.Now().UTC()
	got, err := s.command(ctx, nil, "", "export", "--dir", s.market.Folder, "--bundle", bundle,
		"--from", today.AddDate(0, 0, -3).Format(time.DateOnly), "--to", today.AddDate(0, 0, -2).Format(time.DateOnly))
	if err == nil && !got.success {
		err = errors.New(got.output)
	}
	if err != nil {
		return effect{}, err
	}
	readme := filepath.Join(bundle, "README.txt")
	if err := errors.Join(os.Remove(readme), os.Symlink("/dev/zero", readme)); err != nil {
		return effect{}, err
	}
	begun := time.Now()
	got, err = s.command(ctx, nil, "", "verify", "--bundle", bundle)
	took := time.Since(begun)
	switch {
	case got.limit:
		return harmIf(true, "reads it for %.0f s, also after `SIGTERM`, until killed", took.Seconds()), err
	case got.success || took > commandLimit/2:
		return harmIf(true, "reads it for %.0f s", took.Seconds()), err
	}
	return harmIf(false, "refused at once"), err
}

func compressedFile(ctx context.Context, s *site) (effect, error) {
	path := filepath.Join(s.dir, "zeros.csv.zst")
	file, err := os.Create(path)
	if err != nil {
		return effect{}, err
	}
	defer file.Close()
	// A large window makes a reader hold as much before it returns the first byte.
	writer, err := zstd.NewWriter(file, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return effect{}, err
	}
	if _, err := io.Copy(writer, io.LimitReader(zeros{}, int64(s.scaled(1<<30, 1<<28)))); err != nil {
		return effect{}, err
	}
	if err := errors.Join(writer.Close(), file.Close()); err != nil {
		return effect{}, err
	}
	return s.importHostile(ctx, path)
}

// zeros is an endless file of the digit zero, in one line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{'0'}, len(p)))
	return len(p), nil
}

// importHostile imports a file and shows how much memory that takes beyond what an empty file takes.
func (s *site) importHostile(ctx context.Context, path string) (effect, error) {
	folder := filepath.Join(s.dir, filepath.Base(path)+" imports")
	if err := s.initialize(ctx, nil, folder); err != nil {
		return effect{}, err
	}
	empty, err := s.write("empty.csv", transactionsHeader)
	if err != nil {
		return effect{}, err
	}
	usual, err := s.command(ctx, nil, "", "import", "transactions", "--dir", folder, empty)
	if err != nil {
		return effect{}, err
	}
	got, err := s.command(ctx, nil, "", "import", "transactions", "--dir", folder, path)
	if err != nil {
		return effect{}, err
	}
	more := max(0, got.peak-usual.peak)
	return harmIf(more > 64_000_000 || got.limit, "+%d MB RAM", megabytes(more)), nil
}

func largePage(ctx context.Context, s *site) (effect, error) {
	path := filepath.Join(s.dir, "page.parquet")
	file, err := os.Create(path)
	if err != nil {
		return effect{}, err
	}
	defer file.Close()
	type transaction struct {
		ID         string `parquet:"id,zstd"`
		Source     string `parquet:"source,zstd"`
		ExecutedAt string `parquet:"executed_at,zstd"`
		GPUName    string `parquet:"gpu_name,zstd"`
		Price      string `parquet:"price,zstd"`
		GPUs       string `parquet:"gpus,zstd"`
		Hours      string `parquet:"hours,zstd"`
		Provider   string `parquet:"provider,zstd"`
		Verified   string `parquet:"verified,zstd"`
	}
	writer := parquet.NewGenericWriter[transaction](file, parquet.PageBufferSize(1<<30))
	rows := make([]transaction, 10_000)
	for i := range rows {
		rows[i] = transaction{
			ID: "1", Source: "review", ExecutedAt: "2026-01-02T09:15:00Z", GPUName: "H100 SXM", Price: "2.35", GPUs: "8",
			Hours: "24", Provider: strings.Repeat("Alder", 10), Verified: "true",
		}
	}
	for range s.scaled(300, 100) {
		if _, err := writer.Write(rows); err != nil {
			return effect{}, err
		}
	}
	if err := errors.Join(writer.Close(), file.Close()); err != nil {
		return effect{}, err
	}
	return s.importHostile(ctx, path)
}

func hiddenCharacters(ctx context.Context, s *site) (effect, error) {
	file, err := s.write("hidden.csv", transactionsHeader+
		"hidden-1,review,2026-01-02T09:15:00Z,H100 SXM,us-east,2.35,8,24,\u202eredlA,true\n")
	if err != nil {
		return effect{}, err
	}
	got, err := s.command(ctx, nil, "", "import", "transactions", "--dir", s.market.Folder, file)
	if got.success {
		return harmIf(true, "imported"), err
	}
	return harmIf(false, "rejected"), err
}
