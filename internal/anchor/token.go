package anchor

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"

	"github.com/assaydata/assay"
	"github.com/assaydata/assay/internal/fetch"
)

// Token is what an authority has signed.
type Token struct {
	Time   int64  // at which the authority saw the hash of the text
	Signer string // the subject of the certificate of its key
	DER    []byte
}

// MaxSkew is how far the clock of an authority may be from that of the operator. A token that is further off is not
// stored, because it would look like one of another time.
const MaxSkew = 10 * time.Minute

// Request asks the authority at a URL for a token for a text. The response must be to this request, and not to an
// earlier one.
func Request(ctx context.Context, url, text string, now time.Time) (t Token, err error) {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it never fails
	nonce := new(big.Int).SetBytes(random)
	hash := sha256.Sum256([]byte(text))
	query := timestamp.Request{HashAlgorithm: crypto.SHA256, HashedMessage: hash[:], Certificates: true, Nonce: nonce}
	body, err := query.Marshal()
	if err != nil {
		return t, err
	}
	reply, status, err := fetch.Small.Post(ctx, url, "application/timestamp-query", bytes.NewReader(body))
	if err != nil {
		return t, err
	}
	if status != http.StatusOK {
		return t, fetch.Unexpected(url, status, reply)
	}
	t, answered, err := openReply(reply, text)
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("the response of %s: %w", url, err)
	case answered == nil || answered.Cmp(nonce) != 0:
		return Token{}, fmt.Errorf("the response of %s is to another request", url)
	case time.UnixMilli(t.Time).Sub(now).Abs() > MaxSkew:
		return Token{}, fmt.Errorf("the response of %s is of %s, and this node's clock shows %s: one of them is wrong",
			url, assay.FormatInstant(t.Time), assay.FormatInstant(now.UnixMilli()))
	}
	return t, nil
}

// openReply finds the token in a response, and checks it.
func openReply(reply []byte, text string) (t Token, nonce *big.Int, err error) {
	if err := checkDER(reply); err != nil {
		return t, nil, err
	}
	found, err := timestamp.ParseResponse(reply)
	if err != nil {
		return t, nil, err
	}
	return open(found.RawToken, text)
}

// Open checks that a token is for a text, and that it is signed with the key of the certificate in it. It does not
// check who has issued that certificate.
func Open(der []byte, text string) (Token, error) {
	t, _, err := open(der, text)
	return t, err
}

// timestampContent is the type of what an authority signs (id-ct-TSTInfo). It signs nothing else as that.
var timestampContent = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}

func open(der []byte, text string) (t Token, nonce *big.Int, err error) {
	if err := checkDER(der); err != nil {
		return t, nil, err
	}
	envelope, err := pkcs7.Parse(der)
	if err != nil {
		return t, nil, err
	}
	signer := envelope.GetOnlySigner()
	if signer == nil {
		return t, nil, errors.New("a token must have one signature and its certificate")
	}
	stamp, err := timestamp.Parse(der) // it checks the signature, because there is a certificate
	if err != nil {
		return t, nil, err
	}
	var content asn1.ObjectIdentifier
	err = envelope.UnmarshalSignedAttribute(pkcs7.OIDAttributeContentType, &content)
	hash := sha256.Sum256([]byte(text))
	switch {
	case err != nil || !content.Equal(timestampContent):
		return t, nil, errors.New("what is signed is not a timestamp")
	case !slices.Contains(signer.ExtKeyUsage, x509.ExtKeyUsageTimeStamping):
		return t, nil, errors.New("it is signed with a key that is not for timestamps")
	case stamp.Time.Before(signer.NotBefore) || stamp.Time.After(signer.NotAfter):
		return t, nil, fmt.Errorf("its time, %s, is not one at which the certificate was valid", stamp.Time)
	case stamp.HashAlgorithm != crypto.SHA256 || !bytes.Equal(stamp.HashedMessage, hash[:]):
		return t, nil, errors.New("the timestamp is of something else")
	}
	return Token{Time: stamp.Time.UnixMilli(), Signer: printable(signer.Subject.String()), DER: der}, stamp.Nonce, nil
}

// printable replaces characters that a terminal could take for commands.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// deepest is how deep values may be nested. In tokens with long certificates it is less than half of that.
const deepest = 32

// checkDER checks that data is one value in DER, with all that it contains. The packages that parse it also accept
// other encodings, and there they follow lengths beyond their bounds and nesting to any depth.
func checkDER(data []byte) error {
	var value asn1.RawValue
	rest, err := asn1.Unmarshal(data, &value)
	if err == nil && len(rest) > 0 {
		err = errors.New("more follows")
	}
	if err == nil {
		err = checkNested(value, deepest)
	}
	if err != nil {
		return fmt.Errorf("it is not a value in DER: %w", err)
	}
	return nil
}

func checkNested(value asn1.RawValue, depth int) error {
	if !value.IsCompound {
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("it is nested more than %d deep", deepest)
	}
	for data := value.Bytes; len(data) > 0; {
		var inner asn1.RawValue
		rest, err := asn1.Unmarshal(data, &inner)
		if err != nil {
			return err
		}
		if err := checkNested(inner, depth-1); err != nil {
			return err
		}
		data = rest
	}
	return nil
}
