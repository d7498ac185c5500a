package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestAppCanBeInstalled(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.BasePath = "/portal" }).Handler(8888)
	var manifest struct {
		StartURL string `json:"start_url"`
		Scope    string
		Display  string
		Icons    []struct{ Src, Type, Sizes, Purpose string }
	}
	require.NoError(t, json.Unmarshal(ask(h, "GET", "/portal/manifest.webmanifest").Body.Bytes(), &manifest))
	assert.Equal(t, []string{"./", "./", "standalone"}, []string{manifest.StartURL, manifest.Scope, manifest.Display}, "below the base path")
	sizes := map[string]bool{}
	for _, icon := range manifest.Icons {
		w := ask(h, "GET", "/portal/"+icon.Src)
		require.Equal(t, http.StatusOK, w.Code, icon.Src)
		assert.Equal(t, icon.Type, w.Header().Get("Content-Type"))
		if icon.Type != "image/png" {
			continue
		}
		picture, err := png.DecodeConfig(bytes.NewReader(w.Body.Bytes()))
		require.NoError(t, err)
		assert.Equal(t, icon.Sizes, fmt.Sprintf("%dx%d", picture.Width, picture.Height))
		sizes[icon.Sizes+icon.Purpose] = true
	}
	assert.Equal(t, map[string]bool{"192x192": true, "512x512": true, "512x512maskable": true}, sizes, "what browsers ask for")
}

func TestPageKnowsItsVersion(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	page := regexp.MustCompile(`v-[0-9a-f]{16}`).FindString(ask(h, "GET", "/").Body.String())
	assert.JSONEq(t, `{"version":"test","page":"`+page+`"}`, ask(h, "GET", "/version").Body.String())
}
