package bench_test

import (
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
)

// startFiber serves the same answer with fiber, which brings an HTTP server of
// its own, and counts how often the handler ran.
func startFiber(b *testing.B, middleware ...any) (address string, runs *atomic.Int64) {
	b.Helper()
	runs = new(atomic.Int64)
	app := fiber.New()
	for _, m := range middleware {
		app.Use(m)
	}
	app.Post(path, func(c fiber.Ctx) error {
		runs.Add(1)
		for name, values := range answer.Header {
			c.Set(name, values[0])
		}
		return c.Status(answer.Status).Send(answer.Body)
	})
	l := listen(b)
	go app.Listener(l, fiber.ListenConfig{DisableStartupMessage: true})
	b.Cleanup(func() { app.Shutdown() })
	return l.Addr().String(), runs
}

// protectedByFiber is fiber's idempotency middleware, which keeps answers in
// memory. It looks neither at the key's caller nor at a fingerprint of the
// request.
func protectedByFiber() any {
	return idempotency.New(idempotency.Config{KeyHeader: keyHeader})
}

func fiberBare(b *testing.B) {
	b.Run(name("http", "fiber-handler", atSizes, "1KiB"), func(b *testing.B) {
		address, runs := startFiber(b)
		drive(b, atSizes, overHTTP(b, address, known(small)), nil)
		mustRun(b, runs, b.N)
	})
}

func fiberFresh(b *testing.B) {
	b.Run(name("http", "fiber-memory", atSizes, "1KiB"), func(b *testing.B) {
		address, runs := startFiber(b, protectedByFiber())
		send(b, knownKeys, overHTTP(b, address, known(small)))
		drive(b, atSizes, overHTTP(b, address, freshExchange(b, small)), nil)
		mustRun(b, runs, knownKeys+b.N)
	})
}

func fiberReplay(b *testing.B) {
	b.Run(name("http", "fiber-memory", atSizes, "1KiB"), func(b *testing.B) {
		address, runs := startFiber(b, protectedByFiber())
		send(b, knownKeys, overHTTP(b, address, known(small)))
		drive(b, atSizes, overHTTP(b, address, known(small)), nil)
		mustRun(b, runs, knownKeys)
	})
}

func mustRun(b *testing.B, runs *atomic.Int64, times int) {
	b.Helper()
	if n := runs.Load(); n != int64(times) {
		b.Fatalf("the handler ran %d times; it should %d times", n, times)
	}
}
