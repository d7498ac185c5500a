package jsonrpc

import "context"

// Answer returns the body that answers a body, or nil if it had only notifications. What was to be done after the response
// has been done.
func (h *HTTP) Answer(ctx context.Context, body []byte) []byte {
	response, after := h.answer(ctx, body)
	h.doAll(after)
	return response
}
