package ask

import "github.com/copilot-portal/portal/handlers/form"

// For the tests of package ask_test.
var FieldValue = form.Read
