package ws

// DecodeRequest decodes the body of POST /operations.
func DecodeRequest(body []byte) error {
	var r request
	return decode(body, &r)
}
