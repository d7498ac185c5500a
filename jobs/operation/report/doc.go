// Package report knows what an operation asks of the model and what it takes for an answer: the prompts, which are files
// (prompts/*.md), the tools by which the model reports, and the results that come of them. It has no state and does
// nothing but texts.
package report
