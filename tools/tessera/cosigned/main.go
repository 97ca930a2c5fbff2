// Command cosigned reads a signed note and checks, with the code of transparency-dev, that a witness has signed it. It
// prints when. The exit code is 1 if the witness has not.
//
//	cosigned KEY < note
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	formats "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cosigned:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: cosigned KEY < note")
	}
	witness, err := formats.NewVerifierForCosignatureV1(os.Args[1])
	if err != nil {
		return err
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	opened, err := note.Open(text, note.VerifierList(witness))
	if err != nil {
		return err
	}
	at, err := formats.CoSigV1Timestamp(opened.Sigs[0])
	if err != nil {
		return err
	}
	fmt.Println(at.UTC().Format(time.RFC3339))
	return nil
}
