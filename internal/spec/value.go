package spec

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// read reads text into an argument's value by the value's Go type. Its error
// quotes the text and states the rule.
func (a argumentGrammar) read(into reflect.Value, text string) error {
	switch v := into.Addr().Interface().(type) {
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s%q is not a whole number", keyEquals(a.key), text)
		}
		*v = n
	case *int64:
		n, err := parseSize(text)
		if err != nil {
			return err
		}
		*v = n
	case *time.Duration:
		d, err := parseDuration(text)
		if err != nil {
			return err
		}
		*v = d
	default:
		into.SetString(text)
	}
	return nil
}

// parseSize reads a size in bytes: a whole number with the unit B, KiB or MiB.
// Units of a thousand, and numbers without a unit, are refused because readers
// disagree about them.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(digits):]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a size: write a whole number and B, KiB or MiB, such as 64KiB", text)
	}
	var factor int64
	switch unit {
	case "B":
		factor = 1
	case "KiB":
		factor = 1 << 10
	case "MiB":
		factor = 1 << 20
	case "":
		return 0, fmt.Errorf("%q is not a size: missing unit (try %sB)", text, digits)
	default:
		hint := "use B, KiB or MiB"
		switch strings.ToLower(unit) {
		case "k", "kb", "kib":
			hint = "try " + digits + "KiB"
		case "m", "mb", "mib":
			hint = "try " + digits + "MiB"
		case "b":
			hint = "try " + digits + "B"
		}
		return 0, fmt.Errorf("%q is not a size: unknown unit %q (%s)", text, unit, hint)
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is not a size: it is too large", text)
	}
	return n * factor, nil
}

// parseDuration reads a duration that is not negative, in the form of
// time.ParseDuration.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		if d < 0 {
			return 0, fmt.Errorf("%q is negative: a duration is 0 or more", text)
		}
		return d, nil
	}
	hint := "write a number and a unit, such as 30s or 24h"
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		hint = "missing unit (try " + text + "s)"
	} else if days, found := strings.CutSuffix(text, "d"); found {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 10_000 {
			hint = fmt.Sprintf("there is no unit for days (try %dh)", n*24)
		}
	}
	return 0, fmt.Errorf("%q is not a duration: %s", text, hint)
}

// isToken reports whether s is an RFC 9110 token, the form of header names.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
