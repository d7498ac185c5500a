package jsonrpc

import "context"

// Answer returns the response to a body, or nil if the body had only notifications. Functions to run after the response
// have run.
func (h *HTTP) Answer(ctx context.Context, body []byte) []byte {
	response, after := h.answer(ctx, body)
	h.doAll(after)
	return response
}
