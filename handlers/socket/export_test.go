package socket

import (
	"context"
	"errors"
	"io"
)

// Subprotocol is the one that was agreed on, or "".
func (c *Conn) Subprotocol() string { return c.session.WebsocketConnection().Subprotocol() }

// Discard throws away what the client says until it has said all, and returns nil then; or it fails as Receive does.
func (c *Conn) Discard(ctx context.Context) error {
	for {
		_, err := c.Receive(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
