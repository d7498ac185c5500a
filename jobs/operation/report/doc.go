// Package report contains the prompts of operations (prompts/*.md), the tools with which the model reports,
// and the results built from its reports. It has no state and does no I/O.
package report
