package postgres_test

import (
	"fmt"
	"testing"
	"time"
)

// zoneEndingSummer is a time zone in which daylight saving, an hour, ends at
// that moment: the hour around it happens twice by local time.
func zoneEndingSummer(end time.Time) string {
	wall := end.UTC().Add(time.Hour) // by the clock that is about to be set back
	day := wall.YearDay()
	if leap := time.Date(wall.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366; leap && day >= 60 {
		day-- // J counts no leap days
	}
	// Summer began half a year away.
	start := (day+180)%365 + 1
	return fmt.Sprintf("WIN0SUM,J%d/0,J%d/%s", start, day, wall.Format("15:04:05"))
}

// The suites run while local time means two moments: in the first pass of the
// hour, and in the second.
func TestConformanceInADaylightSavingFold(t *testing.T) {
	passes, off := 0, 0
	for name, end := range map[string]time.Duration{"First": 30 * time.Minute, "Second": -30 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			zone := zoneEndingSummer(time.Now().Add(end))
			set := "timezone TO '" + zone + "'"
			var same bool
			if err := openSQL(t, server.DSN(create(t, set)), 1).QueryRow(
				"SELECT now()::timestamp AT TIME ZONE current_setting('TimeZone') = now()").Scan(&same); err != nil {
				t.Fatal(err)
			}
			if passes++; !same {
				off++
			}
			eachDriver(t, func(t *testing.T, d driver) {
				database := create(t, set)
				d.conformance(t, server.DSN(database), 0, openSQL(t, server.DSN(database), 2))
			})
		})
	}
	if passes == 2 && off == 0 {
		t.Error("local time tells the two hours apart, so the test shows nothing")
	}
}
