package jsonrpc

import "errors"

// ReadSingle returns the next message that is valid and no batch, for a protocol without batches that decodes messages itself. It answers
// all others as a [Peer] does, so any number of goroutines must be able to write to the carrier. Errors: those of the carrier.
func ReadSingle(c Carrier) ([]byte, error) {
	for {
		raw, err := c.Read()
		tooLong := errors.Is(err, ErrTooLong)
		if err != nil && !tooLong {
			return nil, err
		}
		var answer []byte
		switch raw = strip(raw); {
		case tooLong:
			answer = Unreadable(err)
		case len(raw) == 0:
			continue
		default:
			messages, _ := decode(raw, 0) // one, because no batch is that short
			refused := messages[0].refusal
			if refused == nil {
				return raw, nil
			}
			answer = encodeError(refused.id, refused.err)
		}
		if err := c.Write([][]byte{answer}); err != nil {
			return nil, err
		}
	}
}

// Unreadable returns the response to a message that cannot be read as one.
func Unreadable(reason error) []byte { return encodeError(nil, parseError(reason)) }
