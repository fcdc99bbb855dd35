// Package servers starts throwaway database servers for tests and stops them
// again. A missing server is installed from Debian's packages; where that
// cannot be done, the error says what to install.
package servers
