package api

import (
	"strconv"

	"github.com/assaydata/assay"
)

// The functions of this file append members of JSON objects. Names include quotes and colon, and the comma before them.

func appendInstantField(dst []byte, name string, at int64) []byte {
	return append(assay.AppendInstant(append(append(dst, name...), '"'), at), '"')
}

func appendDayField(dst []byte, name string, day int64) []byte {
	return append(assay.AppendDay(append(append(dst, name...), '"'), day), '"')
}

func appendIntField(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

func appendBoolField(dst []byte, name string, b bool) []byte {
	return strconv.AppendBool(append(dst, name...), b)
}

func appendStringField(dst []byte, name, value string) []byte {
	return assay.AppendString(append(dst, name...), value)
}

// appendGivenField appends a parameter as it was given, or null when it was not.
func appendGivenField(dst []byte, name, value string) []byte {
	if value == "" {
		return append(append(dst, name...), "null"...)
	}
	return appendStringField(dst, name, value)
}

// appendPriceField appends a price, or null when there is none.
func appendPriceField(dst []byte, name string, price assay.Nanos, has bool) []byte {
	if dst = append(dst, name...); has {
		return price.AppendJSON(dst)
	}
	return append(dst, "null"...)
}
