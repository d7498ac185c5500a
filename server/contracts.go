package server

import (
	"net/http"

	"github.com/gin-gonic/gin"

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
	text, err := spec.Files.ReadFile(k.file)
	if err != nil {
		panic(err) // the file is part of the program
	}
	c.Header("Cache-Control", "no-store")
	c.Data(http.StatusOK, k.Type, text)
}
