package runtime

// ProtectiveHeaders returns the response headers that make an answer safe to
// hold and to show. They are part of [DefaultPolicy]'s Replay, because an
// answer without them is another one:
//
//   - Cache-Control: no-store keeps it out of caches
//   - Content-Disposition: an attachment is saved and not shown
//   - Content-Security-Policy: what a browser may load and run for it
//   - Cross-Origin-Resource-Policy: which sites may embed it
//   - Referrer-Policy: who learns its address
//   - Strict-Transport-Security: it is asked for over TLS only
//   - X-Content-Type-Options: it is of the type that it says; http.Error sets it
//   - X-Frame-Options: which sites may frame it
func ProtectiveHeaders() []string {
	return []string{
		"Cache-Control", "Content-Disposition", "Content-Security-Policy", "Cross-Origin-Resource-Policy",
		"Referrer-Policy", "Strict-Transport-Security", "X-Content-Type-Options", "X-Frame-Options",
	}
}
