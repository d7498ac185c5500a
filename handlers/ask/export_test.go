package ask

// For the tests of package ask_test.
var FieldValue = fieldValue
