package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"go.yaml.in/yaml/v3"

	"github.com/copilot-portal/portal/spec"
)

// contract is a machine-readable contract, as GET /spec lists it.
type contract struct {
	Path      string `json:"path"`
	Type      string `json:"type"`
	Describes string `json:"describes"`
	file      string
}

func contracts(base string) []contract {
	list := []contract{
		{file: "openapi.yaml", Type: "application/yaml", Describes: "the plain HTTP routes, in OpenAPI"},
		{file: "openapi.json", Type: "application/json", Describes: "the same, as JSON"},
		{file: "openrpc.json", Type: "application/json", Describes: "/rpc, in OpenRPC"},
		{file: "cli.openrpc.json", Type: "application/json", Describes: "portal cli, in OpenRPC"},
		{file: "operations.asyncapi.yaml", Type: "application/yaml", Describes: "/ws, in AsyncAPI"},
		{file: "streams.asyncapi.yaml", Type: "application/yaml", Describes: "/stream, the notifications of /rpc, and /terminal, in AsyncAPI"},
		{file: "ui.schema.json", Type: "application/schema+json", Describes: "the messages of /ui, in JSON Schema"},
	}
	for i, c := range list {
		list[i].Path = base + "/spec/" + c.file
	}
	return list
}

// contractRoutes serves the contracts and their list.
func contractRoutes(r gin.IRoutes, base string) {
	list := contracts(base)
	r.GET(base+"/spec", func(c *gin.Context) {
		c.Header("Cache-Control", "no-store")
		c.JSON(http.StatusOK, gin.H{"contracts": list})
	})
	for _, one := range list {
		r.GET(one.Path, one.serve)
	}
}

func (k contract) serve(c *gin.Context) {
	text, err := k.read()
	if err != nil {
		panic(err) // the file is part of the program
	}
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, k.Type, text)
}

// read returns the file, or what it makes of the file of the same name in YAML.
func (k contract) read() ([]byte, error) {
	text, err := spec.Files.ReadFile(k.file)
	if err == nil || !strings.HasSuffix(k.file, ".json") {
		return text, err
	}
	if text, err = spec.Files.ReadFile(strings.TrimSuffix(k.file, "json") + "yaml"); err != nil {
		return nil, err
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}
