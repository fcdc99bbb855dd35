package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemgen/idemgen/runtime"
)

// duration is d as people write it: 24h, not 24h0m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// leaseLine is the life of a claim on one line.
func leaseLine(p runtime.Policy) string {
	if p.Renew {
		return fmt.Sprintf("0s |== the handler runs, its lease is renewed ==| %s deadline; takeover %s after the last renewal",
			duration(p.Timeout), duration(p.Lease))
	}
	return fmt.Sprintf("0s |== the handler runs ==| %s deadline |-- %s to record --| %s lease over, takeover",
		duration(p.Timeout), duration(p.Lease-p.Timeout), duration(p.Lease))
}
