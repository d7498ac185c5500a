package wire

import (
	"net/url"

	"github.com/gin-gonic/gin"
)

// Param returns a path parameter, decoded. The router returns the raw value where decoding loses information,
// as with "%2F".
func Param(c *gin.Context, name string) string {
	value := c.Param(name)
	if c.Request.URL.RawPath == "" {
		return value
	}
	decoded, err := url.PathUnescape(value)
	if err != nil {
		return value // net/http rejects such paths
	}
	return decoded
}
