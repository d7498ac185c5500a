package mcp

import (
	"encoding/json"

	"github.com/copilot-portal/portal/copilot/event"
)

// DecodeAnswer decodes the arguments of the tool answer.
func DecodeAnswer(arguments []byte) (event.Answer, error) {
	var in answerArgs
	if err := json.Unmarshal(arguments, &in); err != nil {
		return event.Answer{}, err
	}
	return in.decode()
}

// IDsOf returns the ids in the address of a resource.
func IDsOf(address string) []string { return idsOf(address) }
