package routers

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"
)

// Each of the functions mounts the server three times: its two endpoints at
// their own paths, one by one, as a service does that has other routes beside
// them; one endpoint below the prefix /shop, without which it must see the path;
// and the whole server below /all. What an endpoint serves is the path that it
// sees: under a prefix it stands inside http.StripPrefix.

// NetHTTP mounts it on net/http's own mux.
func NetHTTP(s *ParcelsServer) http.Handler {
	m := http.NewServeMux()
	m.Handle("POST /v1/parcels", s.Send)
	m.Handle("POST /v1/parcels/{label}/return", s.Return)
	m.Handle("POST /shop/v1/parcels/{label}/return", http.StripPrefix("/shop", s.Return))
	m.Handle("/all/", http.StripPrefix("/all", s))
	return m
}

// Chi mounts it on chi. Mount leaves the URL as it is, so that StripPrefix is
// wanted all the same.
func Chi(s *ParcelsServer) http.Handler {
	m := chi.NewRouter()
	m.Method("POST", "/v1/parcels", s.Send)
	m.Method("POST", "/v1/parcels/{label}/return", s.Return)
	m.Method("POST", "/shop/v1/parcels/{label}/return", http.StripPrefix("/shop", s.Return))
	m.Mount("/all", http.StripPrefix("/all", s))
	return m
}

// Gin mounts it on gin, which writes a wildcard as :label and loses escaped
// slashes unless it is told to route by the raw path.
func Gin(s *ParcelsServer) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	m := gin.New()
	m.UseRawPath = true
	m.POST("/v1/parcels", gin.WrapH(s.Send))
	m.POST("/v1/parcels/:label/return", gin.WrapH(s.Return))
	m.Group("/shop").POST("/v1/parcels/:label/return", gin.WrapH(http.StripPrefix("/shop", s.Return)))
	m.Any("/all/*rest", gin.WrapH(http.StripPrefix("/all", s)))
	return m
}

// Echo mounts it on echo, which writes a wildcard as :label.
func Echo(s *ParcelsServer) http.Handler {
	m := echo.New()
	m.POST("/v1/parcels", echo.WrapHandler(s.Send))
	m.POST("/v1/parcels/:label/return", echo.WrapHandler(s.Return))
	m.Group("/shop").POST("/v1/parcels/:label/return", echo.WrapHandler(http.StripPrefix("/shop", s.Return)))
	m.Any("/all/*", echo.WrapHandler(http.StripPrefix("/all", s)))
	return m
}

// Gorilla mounts it on gorilla/mux, which unescapes slashes before it routes
// unless it is told to use the path as it was sent.
func Gorilla(s *ParcelsServer) http.Handler {
	m := mux.NewRouter().UseEncodedPath()
	m.Handle("/v1/parcels", s.Send).Methods("POST")
	m.Handle("/v1/parcels/{label}/return", s.Return).Methods("POST")
	m.Handle("/shop/v1/parcels/{label}/return", http.StripPrefix("/shop", s.Return)).Methods("POST")
	m.PathPrefix("/all/").Handler(http.StripPrefix("/all", s))
	return m
}
