package rest

// For the tests of package rest_test.
var (
	Callback     = callback     //nolint:gochecknoglobals // the way of export_test.go
	DecodeAnswer = decodeAnswer //nolint:gochecknoglobals // the way of export_test.go
)
