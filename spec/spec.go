// Package spec embeds the machine-readable contracts of the dialects.
package spec

import "embed"

// Files has the contracts: OpenAPI, OpenRPC, AsyncAPI and JSON Schema.
//
//go:embed cli.openrpc.json openapi.yaml openrpc.json operations.asyncapi.yaml streams.asyncapi.yaml ui.schema.json
var Files embed.FS
