package rest

// For the tests of package rest_test.
var (
	Callback     = callback
	DecodeAnswer = decodeAnswer
)
