// Package spec reads descriptions of APIs: OpenAPI 3, Swagger 2, GraphQL, and the NormalizedSpec that stands for all of them
// (spec/contracts/cli-protocol.notes.md, "As the CLI"; spec/studio.md). It is pure: nothing is fetched and no file is read, so a description that
// refers to another one is a fault.
package spec
