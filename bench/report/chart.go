package main

import (
	"fmt"
	"strings"
)

// chart draws how many fresh keys a second each database takes: the bare two
// statements, the ledger with commits of its own, and with shared ones. Every
// database has a scale of its own, since their bare statements are what each is
// to be compared with.
func chart(r *results) string {
	const left, width, thick, gap = 130, 470, 12, 8
	kinds := []struct{ suffix, size, colour, text string }{
		{"-pair", "", "#9aa0a6", "bare insert and update"},
		{"-apart", "/body=1KiB", "#8ab4f8", "protected request, a commit for each row"},
		{"", "/body=1KiB", "#1a73e8", "protected request, as it is by default"},
	}
	var shapes strings.Builder
	text := func(x, y int, class, s string) {
		fmt.Fprintf(&shapes, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, s)
	}
	y := 24
	text(10, y, "title", "Requests with fresh keys a second, in process, by requests in flight")
	for _, kind := range kinds {
		y += 18
		fmt.Fprintf(&shapes, `<rect x="10" y="%d" width="12" height="12" fill="%s"/>`+"\n", y-10, kind.colour)
		text(28, y, "label", kind.text)
	}
	for _, database := range []struct {
		title, name string
		flights     []int
	}{
		{"SQLite", "sqlite", []int{1, 16, 64, 128}},
		{"PostgreSQL", "postgres", []int{1, 8, 32, 128}},
		{"MariaDB", "mariadb", []int{1, 8, 32, 128}},
	} {
		rate := func(suffix, size string, inFlight int) float64 {
			ns, ok := r.value(fmt.Sprintf("Fresh/inprocess/%s%s/inflight=%d%s", database.name, suffix, inFlight, size), "ns/op")
			if !ok || ns == 0 {
				return 0
			}
			return 1e9 / ns
		}
		most := 1.0
		for _, inFlight := range database.flights {
			for _, kind := range kinds {
				most = max(most, rate(kind.suffix, kind.size, inFlight))
			}
		}
		y += 30
		text(10, y, "title", database.title)
		for _, inFlight := range database.flights {
			y += gap
			text(left-8, y+thick, "right", fmt.Sprintf("%d in flight", inFlight))
			for _, kind := range kinds {
				perSecond := rate(kind.suffix, kind.size, inFlight)
				if perSecond == 0 {
					continue
				}
				length := int(perSecond / most * width)
				fmt.Fprintf(&shapes, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left, y, length, thick-1, kind.colour)
				text(left+length+5, y+thick-2, "label", thousands(perSecond))
				y += thick
			}
		}
	}
	height := y + 20
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="Requests with fresh keys a second">
<style>text{font:11px sans-serif;fill:#202124}.title{font-weight:bold;font-size:13px}.right{text-anchor:end}</style>
<rect width="100%%" height="100%%" fill="#ffffff"/>
%s</svg>
`, left+width+80, height, &shapes)
}
